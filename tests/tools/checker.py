"""Shared by the tests of tools/check-*: a scratch copy of the tree, and what a checker says about it."""

import os
import shutil
import subprocess
import tempfile

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDERS = ["include", "src", "cli", "examples", "fuzz", "bench", "tests", "docs", "tools"]
FILES = [".clang-format", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"]


class Scratch:
    """A copy of the sources that a test may spoil; with-statement."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="mindprof-checker-")
        for folder in FOLDERS:
            if os.path.isdir(os.path.join(TREE, folder)):
                shutil.copytree(os.path.join(TREE, folder), os.path.join(self.path, folder),
                                ignore=shutil.ignore_patterns("data", "corpus", "__pycache__"))
        for name in FILES:
            if os.path.exists(os.path.join(TREE, name)):
                shutil.copy(os.path.join(TREE, name), self.path)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def remove(self, name):
        os.remove(os.path.join(self.path, name))


def run(tool, *arguments):
    """(exit status, output) of tools/<tool>."""
    result = subprocess.run([os.path.join(TREE, "tools", tool), *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    return result.returncode, result.stdout


def expect_clean(tool, *arguments):
    status, output = run(tool, *arguments)
    assert status == 0, f"{tool} fails on the clean tree:\n{output}"
    return output


def expect_fault(text, tool, *arguments):
    """The checker fails and says `text`."""
    status, output = run(tool, *arguments)
    assert status == 1, f"{tool} ends with {status}, expected the fault '{text}':\n{output}"
    assert text in output, f"{tool} does not say '{text}':\n{output}"
