cat >trace.json <<'JSON'
{"traceEvents": [
{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "trainer"}},
{"ph": "X", "pid": 1, "tid": 1, "name": "forward", "ts": 10, "dur": 100},
{"ph": "X", "pid": 1, "tid": 1, "name": "matmul", "ts": 20, "dur": 60},
{"ph": "B", "pid": 1, "tid": 2, "name": "load", "ts": "5.500"},
{"ph": "E", "pid": 1, "tid": 2, "ts": "25.750"}
]}
JSON
mindprof report trace.json
gzip trace.json
mindprof report trace.json.gz --table ranges
