touch file
mindprof record -- ./file
