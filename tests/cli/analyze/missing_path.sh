mindprof analyze nowhere
