mindprof report --tpo 5 x
mindprof report -q x
mindprof report --top
mindprof report --top x x
mindprof report --json=yes x
mindprof report
mindprof record --mode rign -- true
mindprof record --memory 12Q -- true
mindprof record --memory 99999999999G -- true
mindprof record
mindprof help --completion fish
mindprof export a b --to chrome
