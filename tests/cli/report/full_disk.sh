cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof report data >/dev/full
