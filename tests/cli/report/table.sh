cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof report data/*399_ascend_ms --table operator_types
