#!/usr/bin/env python3
"""tools/setup does nothing when all packages are there, installs what is missing when it may, and else prints the line
and fails. Made of the real script over stand-ins for dpkg-query, apt-get, sudo and id."""

import os
import stat
import subprocess
import tempfile

SETUP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "tools", "setup"))
DPKG = '#!/bin/sh\nfor last; do :; done\ncase " $MISSING " in *" $last "*) exit 1 ;; esac\nprintf "ii "\n'
APT = '#!/bin/sh\necho "$(id -u) $*" >>"$LOG"\n'
SUDO = '#!/bin/sh\n[ -n "$MAY_SUDO" ] || exit 1\nshift\nUSER_ID=0 exec "$@"\n'
ID = '#!/bin/sh\necho "$USER_ID"\n'


def setup(folder, missing, user, may_sudo=""):
    log = os.path.join(folder, "log")
    if os.path.exists(log):
        os.remove(log)
    variables = dict(os.environ, PATH=folder + ":" + os.environ["PATH"], MISSING=missing, USER_ID=user,
                     MAY_SUDO=may_sudo, LOG=log)
    result = subprocess.run([SETUP], env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False)
    calls = open(log, encoding="utf-8").read().splitlines() if os.path.exists(log) else []
    return result.returncode, result.stdout, calls


with tempfile.TemporaryDirectory() as top:
    for name, text in (("dpkg-query", DPKG), ("apt-get", APT), ("sudo", SUDO), ("id", ID)):
        path = os.path.join(top, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    status, output, calls = setup(top, "", "1000")
    assert status == 0 and not calls and "packages are installed" in output, (status, output, calls)

    install = "-qq install -y --no-install-recommends cmake libzstd-dev"
    for user, may_sudo in (("0", ""), ("1000", "yes")):
        status, output, calls = setup(top, "libzstd-dev cmake", user, may_sudo)
        assert status == 0 and calls == ["0 -qq update", f"0 {install}"], (status, output, calls)

    status, output, calls = setup(top, "libzstd-dev cmake", "1000")
    assert status == 1 and not calls, (status, output, calls)
    assert "apt-get update && apt-get install -y --no-install-recommends cmake libzstd-dev" in output, output
