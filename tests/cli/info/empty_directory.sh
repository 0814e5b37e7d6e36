mkdir empty
mindprof info empty
