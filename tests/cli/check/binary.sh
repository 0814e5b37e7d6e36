printf '\x7fELF\x00\x01' >a.json
mindprof check a.json
