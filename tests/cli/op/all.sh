run=$(ls -d "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms)
mindprof op "$run" | grep -c '^[A-Z]'
