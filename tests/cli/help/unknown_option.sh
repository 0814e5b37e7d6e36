mindprof --verbose
