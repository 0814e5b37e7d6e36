# the others are still shown
cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof info nowhere data | grep ^path
exit "${PIPESTATUS[0]}"
