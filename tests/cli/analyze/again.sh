# its own files are replaced without a word
cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof analyze data >first
mindprof analyze data >second
cmp first second
