mindprof --version
