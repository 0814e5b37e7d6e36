cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof report data/*399_ascend_ms --json --table memory_peak | python3 -m json.tool
