"""Shared parts of the package's tests: the command they compare with, machines, strange values."""
import os
import pathlib
import subprocess

import pytest

import fabricost as fc

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COLLECTIVES = {"all_reduce": fc.AllReduce, "all_gather": fc.AllGather, "reduce_scatter": fc.ReduceScatter, "broadcast": fc.Broadcast,
               "reduce": fc.Reduce, "all_to_all": fc.AllToAll}


@pytest.fixture(scope="session")
def command():
    """Runs the command and gives what it printed; FABRICOST_TOOL names it."""
    tool = os.environ.get("FABRICOST_TOOL", str(SOURCE / "build" / "fabricost"))

    def run(*arguments):
        return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=True).stdout

    return run


@pytest.fixture(scope="session")
def h100():
    return fc.load_system("dgx-h100")


@pytest.fixture(scope="session")
def log():
    """A real run of nccl-tests on 8 H100s."""
    return SOURCE / "data" / "measurements" / "dgx-h100-all-reduce.txt"
