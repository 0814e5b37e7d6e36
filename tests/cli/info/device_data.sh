# known, but not read by this version: incomplete
mkdir -p run/FRAMEWORK run/PROF_000001_20250705072000001_ABCDEFGHIJKLMNOP run/FRAMEWORK
touch run/FRAMEWORK/mindspore.memory_usage run/odd
mindprof info run
