"""One way to run the command in a test: exit status, what is on which stream, files to give it."""
import os
import pathlib
import subprocess
import tempfile


class Command:
    """The tool with the arguments that stand before all others, such as a subcommand."""

    def __init__(self, tool, *first):
        self.tool, self.first = os.path.abspath(tool), first

    def run(self, *arguments, cwd=None):
        return subprocess.run([self.tool, *self.first, *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=cwd,
                              env={**os.environ, "COLUMNS": "200"})  # tables with all of their columns

    def works(self, *arguments, cwd=None):
        """The output; fails unless the command exits 0 with nothing on stderr."""
        done = self.run(*arguments, cwd=cwd)
        assert done.returncode == 0, (arguments, done.returncode, done.stderr)
        assert done.stderr == "", done.stderr
        return done.stdout

    def refused(self, *arguments, saying, cwd=None):
        """Fails unless it exits 2 with nothing on stdout and every part of `saying` on stderr."""
        done = self.run(*arguments, cwd=cwd)
        assert done.returncode == 2, (arguments, done.returncode, done.stderr)
        assert done.stdout == "", done.stdout
        for part in saying:  # a line is broken between words where the columns end
            assert part in done.stderr or part in " ".join(done.stderr.split()), (part, done.stderr)


def written(folder, name, text):
    """Path of a new file with that text."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def run_tests(names):
    """Runs every test_... of a module, in a folder of its own where it takes one."""
    for name, test in list(names.items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as folder:
                test(*[pathlib.Path(folder)][:test.__code__.co_argcount])
            print("ok", name)
