mindprof record -- ./absent
