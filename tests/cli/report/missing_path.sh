mindprof report nowhere
