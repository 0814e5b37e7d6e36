# found before anything is read; the manual page lists the names
mindprof analyze --as-original=clock,clocks nothing_there
echo $?
mindprof help --man analyze | grep -A1 'cpu.*op.*start.*fR$'
