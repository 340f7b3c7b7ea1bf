"""fabricost diagnose as scripts see it: exit status, what is on which stream, the JSON's fields.

    test_diagnose_cli.py FABRICOST
"""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from command import Command, written  # noqa: E402

TOOL = sys.argv[1]
COMMAND = Command(TOOL, "diagnose")
works, refused = COMMAND.works, COMMAND.refused
CAUSES = ("acs_enabled algorithm_choice bug_in_version container_vm_topology cpu_launch_bound debug_env expected_value_wrong "
          "few_channels gdr_off half_rate_link iommu ll128_off nic_wrong_numa no_p2p_shm nvlink_not_used nvls_off oversubscription "
          "pcie_downgraded rail_missing roce_untuned small_message stragglers tcp_fallback other").split()
INFO = "x:1:2 [0] NCCL INFO "
BROKEN = (INFO + "NCCL_P2P_DISABLE set by environment to 1\n" + INFO + "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
          + INFO + "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n")
FINE = "".join(f"# Rank {r} Group 0 Pid 1 on n device {r} [0x0{r}] NVIDIA H100 80GB HBM3\n" for r in range(8)) + (
    "# Collective test starting: all_reduce_perf\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "  268435456      67108864     float     sum      -1   1157.3  231.95  405.92      0   1157.9  231.83  405.70      0\n"
    " 1073741824     268435456     float     sum      -1   4030.7  266.39  466.18      0   4031.0  266.37  466.15      0\n")


def contract(folder):
    found = json.loads(works(written(folder, "broken.log", BROKEN), "--json"))
    assert found["healthy"] is False
    assert len(found["causes"]) >= 2, found
    confidences = [c["confidence"] for c in found["causes"]]
    assert confidences == sorted(confidences, reverse=True), confidences
    assert len({c["cause"] for c in found["causes"]}) == len(found["causes"]), "a cause is named once"
    for cause in found["causes"]:
        assert set(cause) == {"cause", "confidence", "evidence", "remedy"}, cause
        assert cause["cause"] in CAUSES and 0 < cause["confidence"] <= 1 and cause["evidence"] and cause["remedy"], cause
    fine = json.loads(works(written(folder, "fine.log", FINE), "--json", "--system", "dgx-h100"))
    assert fine["healthy"] is True and fine["causes"] == [], fine
    high = json.loads(works(os.path.join(folder, "fine.log"), "--json", "-s", "dgx-h100", "--expected", "900 GB/s"))
    assert high["healthy"] is True and [c["cause"] for c in high["causes"]] == ["expected_value_wrong"], high


def for_people(folder):
    text = works(written(folder, "broken.log", BROKEN))
    assert text.startswith("not healthy"), text
    assert "line 1:" in text and "NCCL_P2P_DISABLE" in text and "try" in text, text
    text = works(written(folder, "fine.log", FINE), "--expected", "900 GB/s")
    assert text.startswith("healthy, and here is why it looks low"), text
    assert "1 GiB" in text and "predicted" in text and "guessed from the log" in text, text


def refusals(folder):
    fine = written(folder, "fine.log", FINE)
    refused(saying=["which log"])
    refused(os.path.join(folder, "none.log"), saying=["none.log"])
    refused(folder, saying=[os.path.basename(folder)])
    refused(written(folder, "letter.txt", "Dear all,\nit is slow.\n"), saying=["letter.txt:1:1", "NCCL_DEBUG=INFO"])
    refused(written(folder, "empty.txt", ""), saying=["empty.txt"])
    refused(written(folder, "spec.yaml", "name: a\nbandwidth: 450 GB/s per direction\n"), saying=["spec.yaml:1"])
    refused(fine, "--system", "dgx-h10", saying=["dgx-h100"])
    refused(fine, "--expected", "900", saying=["no unit", "GB/s"])
    refused(fine, "--expected", "much", saying=["--expected"])
    refused(fine, "--ranks", "0", saying=["--ranks"])
    refused(fine, "--system", "dgx-h100", "--ranks", "4", saying=["lists 8 ranks"])
    refused(fine, "--sytem", "dgx-h100", saying=["--system"])
    with open(os.path.join(folder, "bytes.log"), "wb") as file:
        file.write(b"NCCL INFO \x00\x01\x02\xff" * 50)
    refused(os.path.join(folder, "bytes.log"), saying=["bytes.log"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        contract(folder)
        for_people(folder)
        refusals(folder)
    print("diagnose keeps its contract")


if __name__ == "__main__":
    main()
