# its own files are replaced without a word; what is finished is told, not done again
cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof analyze data >first
mindprof analyze --again data >second
cmp first second
mindprof analyze data >third
cmp first third
touch data/*/FRAMEWORK/*
mindprof analyze data >fourth
cmp first fourth
