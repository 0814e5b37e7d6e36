printf 'a,b\n1\n' >a.csv
mindprof check a.csv --json >out.json
status=$?
python3 -m json.tool out.json
exit $status
