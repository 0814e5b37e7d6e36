# two recordings of one name would replace each other
for parent in a b; do
	mkdir -p $parent
	cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms $parent
done
mindprof analyze a b --out out | wc -l
exit "${PIPESTATUS[0]}"
