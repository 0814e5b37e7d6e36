echo '{"traceEvents": [{"ph":"X","pid":1,"tid":1,"name":"a","ts":1,"dur":2}]}' >a.json
printf 'a,b\r\n1,2\r\n' >a.csv
gzip -k a.json
mindprof check a.json a.csv a.json.gz
