mindprof anlyze data
