#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The independent checkers and `mindprof check` say of every file of tests/data/{trace,csv} what its folder says.

Usage: lint_test.py BUILD-FOLDER
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data"
KINDS = [("trace", "*.json", HERE / "trace_lint.py"), ("csv", "*.csv", HERE / "csv_lint.py")]


def output_of(command):
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def wrong_about(path, good, lint, mindprof):
    """Sentences on who says the wrong thing about one file."""
    code = path.stem.split("--")[0]
    wrong = []
    status, text = output_of([sys.executable, lint, path])
    if status != (0 if good else 1):
        wrong.append(f"{lint.name} ends with {status}: {text.strip()}")
    status, text = output_of([mindprof, "check", path])
    if good and status != 0:
        wrong.append(f"mindprof check ends with {status}: {text.strip()}")
    if not good and (status == 0 or f"[{code}," not in text):
        wrong.append(f"mindprof check ends with {status} and does not name {code}: {text.strip()}")
    return wrong


def main():
    mindprof = pathlib.Path(sys.argv[1]) / "bin" / "mindprof"
    n, n_wrong = 0, 0
    for folder, pattern, lint in KINDS:
        for state in ("ok", "fail"):
            paths = sorted((DATA / folder / state).glob(pattern))
            if len(paths) < 5:
                print(f"only {len(paths)} files in {folder}/{state}")
                n_wrong += 1
            for path in paths:
                n += 1
                for sentence in wrong_about(path, state == "ok", lint, mindprof):
                    print(f"{path}: {sentence}")
                    n_wrong += 1
    print(f"{n} files, {n_wrong} wrong answers")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
