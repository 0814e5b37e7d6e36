mindprof export nowhere --to chrome
