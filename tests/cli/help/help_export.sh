mindprof export --help
