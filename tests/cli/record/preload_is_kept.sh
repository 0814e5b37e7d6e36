# what the user preloads stays, behind ours
. "$SOURCE/tests/cli/record/setup"
LD_PRELOAD=$BUILD/lib/libmindprof.so mindprof record -- sh -c 'echo "$LD_PRELOAD"' | head -1 | tr : '\n' | sed 's|.*/||'
