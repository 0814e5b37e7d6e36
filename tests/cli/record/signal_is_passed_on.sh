. "$SOURCE/tests/cli/record/setup"
mindprof record ./tiny wait >out 2>err &
until grep -q worked out 2>/dev/null; do sleep 0.05; done
kill -TERM $!
wait $!
echo "status $?"
cat err
ranges
