# two types, one whole name, one last part
run=$(ls -d "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms)
mindprof op "$run" MatMul ReLU-op0
