"""Ctrl-C ends a long search soon: Python's signal handlers run while the search does."""
import signal
import time

import pytest

import fabricost as fc


class Alarm(Exception):
    pass


def ring(signum, frame):
    raise Alarm


def test_a_signal_ends_a_long_search_within_seconds():
    machine = fc.load_system("dgx-h100")
    before = signal.signal(signal.SIGALRM, ring)
    start = time.monotonic()
    try:
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            fc.plan(machine, "moe-1.8t", gpus=55440, global_batch=55440, sequence=55440, top=100000)  # left alone, ten seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 4


def test_a_search_that_nobody_interrupts_ends_as_before():
    machine = fc.load_system("dgx-h100")
    assert len(fc.plan(machine, "llama3-70b", gpus=64, global_batch=64)) > 0
