. "$SOURCE/tests/cli/record/setup"
touch file
mindprof record --output file ./tiny 2>err
status=$?
sed "s/process [0-9]* /process N /; s|$PWD/||" err
exit $status
