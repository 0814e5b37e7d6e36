mindprof analyze --help
