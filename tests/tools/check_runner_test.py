#!/usr/bin/env python3
"""tools/check adds up builds, checkers and tests, shows what fails, and ends in the line that CI reads. Made of the
real script over stand-ins for cmake, ctest and the checkers."""

import os
import shutil
import stat
import subprocess
import tempfile

TOOLS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "tools"))

CTEST = """#!/bin/bash
while (($#)); do [ "$1" = --output-junit ] && junit=$2; shift; done
[ -n "$NO_RESULTS" ] && { echo 'cannot find the tests'; exit 1; }
cat >"$junit" <<X
<testsuite name="x" tests="4">
	<testcase name="unit/test_a" status="run"><system-out>fine &lt;failure</system-out></testcase>
	<testcase name="unit/test_b" status="run"></testcase>
	<testcase name="cli/c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
X
if [ -n "$TEST_FAILS" ]; then
	printf '\\t<testcase name="unit/test_d" status="fail">\\n\\t\\t<failure message="Failed"/></testcase>\\n' >>"$junit"
	echo 'expected 1, got 2'
else
	echo '	<testcase name="unit/test_d" status="run"></testcase>' >>"$junit"
fi
echo '</testsuite>' >>"$junit"
"""
CMAKE = """#!/bin/bash
[ "$1" = --build ] && [ -n "$BUILD_FAILS" ] && { echo 'error: x is undeclared'; exit 1; }
exit 0
"""


def script(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def check(folder, *arguments, **environment):
    variables = dict(os.environ, PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"],
                     **{"NO_RESULTS": "", "TEST_FAILS": "", "BUILD_FAILS": "", **environment})
    result = subprocess.run([os.path.join(folder, "tools", "check"), *arguments], env=variables, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return result.returncode, result.stdout, result.stdout.rstrip("\n").split("\n")[-1]


def expect(actual, status, last, *parts):
    assert actual[0] == status and actual[2] == last, actual
    for part in parts:
        assert part in actual[1], (part, actual[1])


with tempfile.TemporaryDirectory() as top:
    os.makedirs(os.path.join(top, "bin"))
    os.makedirs(os.path.join(top, "tools"))
    shutil.copy(os.path.join(TOOLS, "check"), os.path.join(top, "tools", "check"))
    script(os.path.join(top, "bin", "ctest"), CTEST)
    script(os.path.join(top, "bin", "cmake"), CMAKE)
    for name in ("check-format", "check-deps", "check-size"):
        script(os.path.join(top, "tools", name), "#!/bin/sh\nexit 0\n")

    # Three checkers; a build and four tests, one of them skipped.
    expect(check(top, "source"), 0, "3 passed, 0 failed")
    expect(check(top, "tsan"), 0, "4 passed, 0 failed, 1 skipped")
    expect(check(top, "source", "tsan"), 0, "7 passed, 0 failed, 1 skipped")
    expect(check(top, "tsan", TEST_FAILS="1"), 1, "3 passed, 1 failed, 1 skipped", "expected 1, got 2",
           "failed: tests tsan: unit/test_d")
    expect(check(top, "tsan", BUILD_FAILS="1"), 1, "0 passed, 1 failed", "error: x is undeclared", "failed: build tsan")
    expect(check(top, "tsan", NO_RESULTS="1"), 1, "1 passed, 1 failed", "cannot find the tests")
    script(os.path.join(top, "tools", "check-deps"), "#!/bin/sh\necho 'a.c: may not'\nexit 1\n")
    expect(check(top, "source"), 1, "2 passed, 1 failed", "a.c: may not", "failed: check-deps")
    status, output, _ = check(top, "nonsense")
    assert status == 2 and "unknown stage 'nonsense'" in output, output
    status, output, _ = check(top, "--nonsense")
    assert status == 2 and "unknown option" in output, output
