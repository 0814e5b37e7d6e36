mindprof info --help
