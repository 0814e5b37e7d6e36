cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof info data
