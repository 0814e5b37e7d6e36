. "$SOURCE/tests/cli/record/setup"
mindprof record --follow-fork ./tiny fork | sed 's/[0-9]\+/N/g; s/.*N_/_/'
ranges | sort
