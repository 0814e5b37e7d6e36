mindprof help --help
