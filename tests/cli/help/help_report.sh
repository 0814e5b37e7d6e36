mindprof report --help
