# the same text both ways
mindprof help report | diff - <(mindprof report -h)
mindprof help | diff - <(mindprof --help)
mindprof help nonsense
