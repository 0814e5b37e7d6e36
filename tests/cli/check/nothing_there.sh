mkdir empty
mindprof check empty nowhere
