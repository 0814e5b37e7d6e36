mindprof record --help
