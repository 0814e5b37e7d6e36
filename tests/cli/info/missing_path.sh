mindprof info nowhere
