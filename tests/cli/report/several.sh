cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof report data --table operator_types --top 2
