cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof export data --to chrome
