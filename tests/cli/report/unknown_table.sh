mindprof report data --table nonsense
