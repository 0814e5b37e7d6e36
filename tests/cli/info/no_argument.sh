mindprof info
