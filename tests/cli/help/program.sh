mindprof --help
