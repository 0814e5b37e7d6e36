echo hello >notes.txt
mindprof report notes.txt
