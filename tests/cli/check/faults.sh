cat >a.json <<'JSON'
[{"ph":"X","pid":1,"tid":1,"name":"a","ts":1,"dur":2},
{"ph":"X","pid":1,"tid":1,"name":"b","ts":2,"dur":2},
{"ph":"f","pid":1,"tid":1,"name":"f","ts":2,"id":7},
{"ph":"X","pid":1,"tid":1,"name":"c","name":"c","ts":9,"dur":-1}
]
JSON
printf 'a,b\n1\n' >a.csv
printf '[{"ph": "X",]' >broken.json
mindprof check a.json a.csv broken.json
