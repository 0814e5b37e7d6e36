mindprof export run
mindprof export run --to perfetto
mindprof export run --to csv
mindprof export run --to csv --table nonsense
mindprof export run --to chrome --table operators
mindprof export run --to chrome --json
mindprof export run --to chrome -o - --json
