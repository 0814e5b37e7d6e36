. "$SOURCE/tests/cli/record/setup"
mindprof record ./tiny 7 >/dev/null
