mindprof help --man export
