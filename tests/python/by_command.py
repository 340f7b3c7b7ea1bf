"""The command as a second opinion: every answer of the package is held against `fabricost ... --json`."""
import json
import math
import os
import pathlib
import subprocess

TOOL = os.environ.get("FABRICOST_TOOL", str(pathlib.Path(__file__).resolve().parents[2] / "build" / "fabricost"))


def asked(*arguments):
    """The command's answer, as JSON, without its schema and question."""
    words = [str(a) for a in arguments]
    done = subprocess.run([TOOL, *words, "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"fabricost {' '.join(words)}: {done.stderr}"
    answer = json.loads(done.stdout)
    del answer["schema"], answer["question"]  # of the command alone
    return answer["rows"] if list(answer) == ["rows"] else answer


def refused(*arguments):
    """The command's message when it refuses."""
    done = subprocess.run([TOOL, *[str(a) for a in arguments]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == "", done
    return done.stderr


def same(got, wanted, what="", tolerance=1e-12):
    """Equal to the last digits; None where the command has null."""
    if isinstance(wanted, bool) or isinstance(wanted, str) or wanted is None:
        assert got == wanted, f"{what}: {got!r} is not {wanted!r}"
    else:
        assert math.isclose(got, wanted, rel_tol=tolerance, abs_tol=1e-15), f"{what}: {got!r} is not {wanted!r}"
