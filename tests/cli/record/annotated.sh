. "$SOURCE/tests/cli/record/setup"
mindprof record ./tiny >out
head -1 out
[[ $(tail -1 out) == "$PWD"/data/*_ascend_ms && -d $(tail -1 out)/MINDPROF ]] && echo "said where"
ranges
mindprof report data | grep -c 'began'
