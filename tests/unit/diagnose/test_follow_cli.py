"""diagnose --follow reads logs while they are written, and ends when a verdict stands. All jobs are followed at once."""
import contextlib
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command, run_tests
from tables import H100, SOUND, table

TOOL = sys.argv[1]
STEP = " iteration {:8d}/  250000 | consumed samples: 186368 | elapsed time per iteration (ms): 12699.3 | lm loss: 2.38E+00 |\n"
ERROR = "[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered\n"


class Followed:
    """A process that follows, and what it has said once it ended."""

    def __init__(self, place):
        self.process = subprocess.Popen([TOOL, "diagnose", str(place), "--follow", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """A test that fails leaves no follower behind."""
        self.process.kill()
        self.process.wait(timeout=60)

    def runs(self):
        return self.process.poll() is None

    def answer(self):
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0 and err == "", (self.process.returncode, err)
        return json.loads(out)


def test_a_signal_leaves_no_copies_of_logs(folder):
    log, temporary = folder / "job.log", folder / "tmp"
    log.write_text("NCCL version 2.27.3\n" + STEP.format(1))
    temporary.mkdir()
    process = subprocess.Popen([TOOL, "diagnose", str(log), "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "TMPDIR": str(temporary)})
    for _ in range(200):
        if any(temporary.iterdir()):
            break
        time.sleep(0.05)
    time.sleep(0.3)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2 and out == "" and "stopped before" in err, (process.returncode, out, err)
    assert not any(temporary.iterdir())


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def test_jobs(folder):
    steps = "".join(STEP.format(i) for i in range(20))
    grows, rotates, some, ends, goes_on = (folder / name for name in ("grows.log", "rotates.log", "ranks", "table.log", "goes_on.log"))
    some.mkdir()
    (some / "rank0.log").write_text(steps)
    for log in (grows, rotates, goes_on):
        log.write_text("NCCL version 2.27.3\n" + steps)
    ends.write_text(table(H100, SOUND)[:-200])
    with contextlib.ExitStack() as stack:
        every = {place: stack.enter_context(Followed(place)) for place in (grows, rotates, some, ends, goes_on)}
        time.sleep(2.5)
        assert all(one.runs() for place, one in every.items() if place != ends), "nothing has happened yet"

        append(grows, STEP.format(21) + ERROR[:30])  # a line that is being written
        rotates.rename(folder / "rotates.log.1")
        rotates.write_text(steps)
        append(ends, table(H100, SOUND)[-200:])
        time.sleep(1.5)
        assert every[grows].runs(), "half a line is no event"
        append(grows, ERROR[30:])
        append(rotates, ERROR)
        (some / "rank1.log").write_text(steps + ERROR)
        for place in (grows, rotates, some):
            answer = every[place].answer()
            assert answer["state"] == "failed" and answer["causes"][0]["cause"] == "program_error", (place, answer)
            assert "illegal memory access" in answer["causes"][0]["evidence"], answer
        sound = every[ends].answer()
        assert sound["state"] == "as_predicted" and sound["sizes"][-1]["ranks"] == 8, sound
        assert every[goes_on].runs(), "a run that goes on has no verdict"


def test_long_logs_are_followed_in_bounded_memory(folder):
    log = folder / "long.log"
    with open(log, "w", encoding="utf-8") as file:
        for i in range(400000):
            file.write(STEP.format(i))
    with Followed(log) as one:
        time.sleep(1)
        append(log, ERROR)
        assert one.answer()["state"] == "failed"


def test_what_is_not_there_is_refused(folder):
    Command(TOOL, "diagnose").refused(folder / "none.log", "--follow", saying=["none.log", "cannot be followed"])


if __name__ == "__main__":
    run_tests(globals())
