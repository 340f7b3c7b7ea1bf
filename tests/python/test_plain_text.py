"""Texts that reach Python are plain: no control characters, no invalid bytes."""
import os
import re

import pytest

import fabricost as fc

ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
NASTY = "\033]0;title\007 \u009b2J \u202eexe.gpj\u202c \x7f"
RANKS = "".join(f"#  Rank {r:2} Group  0 Pid  10{r} on node0 device  {r} [0000:{19 + r}:00] NVIDIA H100 80GB HBM3\n" for r in range(8))
LINE = "x:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' "


@pytest.mark.parametrize("ask", [
    lambda: fc.load_system(NASTY),
    lambda: fc.load_system("dgx-h100" + NASTY + ".yaml"),
    lambda: fc.load_system("dgx-h100", overrides=[NASTY + "=1"]),
    lambda: fc.load_system("dgx-h100", overrides=["nic.link=" + NASTY]),
    lambda: fc.load_model(NASTY),
    lambda: fc.diagnose(os.path.join("/nowhere", NASTY)),
    lambda: fc.read_log(os.path.join("/nowhere", NASTY)),
])
def test_messages_hold_nothing_a_terminal_acts_on(ask):
    with pytest.raises(fc.Error) as raised:
        ask()
    assert not ACTING.search(str(raised.value)), str(raised.value)


def test_causes_of_a_log_are_text(tmp_path):
    log = tmp_path / "latin.log"
    log.write_bytes((RANKS + LINE + NASTY).encode() + b" Z\xfcrich \xff\n")
    found = fc.diagnose(log)
    assert found.causes
    for cause in found.causes:
        assert not ACTING.search(cause.evidence) and "Z\ufffdrich" in cause.evidence, cause.evidence


def test_points_of_a_log_that_is_no_utf_8_are_text(tmp_path):
    table = tmp_path / "latin.csv"
    table.write_bytes(b"source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,"
                      b"notes\ncaf\xe9,dgx-h100,1,8,all_reduce,half,1048576,30,0,nccl,2.2,,,M\xfcnchen\n")
    points = fc.read_log(table)
    assert len(points) == 1
    assert "M\ufffdnchen" in str(points[0])
