mindprof check --help
