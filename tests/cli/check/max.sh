printf 'a,b\n1\n2\n3\n4\n' >a.csv
mindprof check --max 2 a.csv
