# one bad event is left out, the rest is reported, the exit code is 3
printf '[{"ph":"X","pid":1,"tid":1,"name":"a","ts":1,"dur":2},\n{"ph":"X","name":"b" "ts":1},\n{"ph":"X","pid":1,"tid":1,"name":"c","ts":5,"dur":1}]' >trace.json
mindprof report trace.json
