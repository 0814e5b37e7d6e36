run=$(ls -d "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms)
mindprof op "$run" Matmul NoSuchOp
echo $?
ln -s "$DATA/cpu/cpu-graph-schedule/raw" many
mindprof op many
echo $?
mindprof op
echo $?
mindprof op missing
