echo '[{"ph":"X","pid":1,"tid":1,"name":"a","ts":1,"dur":2}]' >x.json
mindprof analyze x.json | head -2
