# the folder of the recording alone, moved elsewhere
. "$SOURCE/tests/cli/record/setup"
mindprof record ./tiny >/dev/null || exit 2
mv data/*/MINDPROF .
mindprof report MINDPROF --table ranges | grep -c work
mkdir copied
mv MINDPROF/* copied
mindprof export copied --to csv --table ranges | cut -d, -f1-3
