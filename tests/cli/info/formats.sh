mindprof info --formats
