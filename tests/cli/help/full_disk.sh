# a full disk must not look like success
mindprof --help >/dev/full
