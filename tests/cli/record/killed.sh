# what was recorded until then is there, and the report names the cut
. "$SOURCE/tests/cli/record/setup"
mindprof record ./tiny kill >/dev/null
echo "status $?"
ranges
mindprof report data | grep 'not ended' | sed 's/;.*//'
