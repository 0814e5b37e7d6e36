# control characters of a measured program do not reach the terminal
printf '[{"ph":"X","pid":1,"tid":1,"name":"a\\u001b[31m\\u009bred","ts":1,"dur":2}]' >trace.json
mindprof report trace.json | grep -c $'\033'
mindprof report trace.json --table ranges
