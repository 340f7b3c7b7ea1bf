#!/usr/bin/env python3
"""Every call of the runtime, of NCCL and of NVML that a GPU probe makes fails in every way, on a GPU made of threads: nothing hangs, leaks
or goes unnoticed, and each failure ends in one of the ways that may_end lists.

    check_failures.py CUDA_HEADERS NCCL_HEADER FOLDER EACH [PROBE...]    EACH calls of every function fail, of the probes that begin so

Where all probes are tried, every function that the probes' sources call must have failed, but those asked only while waiting."""

import collections
import pathlib
import re
import sys

import stand_in

PROBES = pathlib.Path(__file__).parents[3] / "src" / "probes" / "measure" / "gpu"
SAYS = {"out_of_memory": "out of memory", "unsupported": "unsupported", "fault": "fault", "lost": "lost"}
# If a release fails, the result is there already; a value that NVML does not return stays unknown; and if something cannot be captured,
# the repetitions are launched one by one.
RELEASES = ("Destroy", "Free", "Shutdown", "Abort", "Deregister")
POLLS = ("cudaStreamQuery", "ncclCommGetAsyncError", "asynchronous_error")  # asked while something takes long, and at the end
UNKNOWN = ("ncclGetVersion", "cudaDeviceGetAttribute", "cudaStreamSynchronize")  # NCCL, clocks, the end of the load on PCIe
OPENS = ("cudaGetDeviceCount", "cudaSetDevice", "cudaHostAlloc")
CAPTURES = ("cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate")
# The last call of a function is often made after the result was checked, to release what a device holds. And what is captured last is
# launched one by one where it cannot be captured.
LATE = ("cudaSetDevice", "ncclGroupStart")
LATE_CAPTURED = ("cudaMemcpyAsync", "cudaMemcpyPeerAsync")


# They have no status, repeat one, or are called after a failure only.
CANNOT_FAIL = {"cudaError_t", "cudaGetErrorName", "cudaGetErrorString", "cudaGetLastError", "ncclGetErrorString", "ncclGetLastError",
               "ncclCommAbort"}
OTHER_NAMES = {"nvmlDeviceGetCurrentClocksEventReasons"}  # tried where the usual one is missing
LIBRARIES = {"cuda": "the runtime", "nccl": "NCCL", "nvml": "NVML"}


def called_in_sources():
    """The functions that the probes call: of the runtime by name, of NCCL and NVML by the lists that are loaded."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(PROBES.rglob("*")) if path.suffix in (".cpp", ".hpp", ".cu"))
    found = set(re.findall(r"\b(cuda[A-Z]\w+)\s*\(", text)) | set(re.findall(r"\bcuda\w+(?:Destroy)\b", text))
    found |= set(re.findall(r"\bof\((nccl\w+)\)", text)) | set(re.findall(r'"(nvml\w+)"', text))
    return found - CANNOT_FAIL - OTHER_NAMES


def print_counts(found):
    """One line for every library and kind of failure: how many functions, how many failures, how the probes ended."""
    print(f"{'calls of':<14}{'fail with':<15}{'functions':>10}{'failures':>10}  outcomes")
    groups = collections.defaultdict(list)
    for _, call, failure, outcome, _ in found:
        groups[LIBRARIES.get(call[:4], "work on a GPU"), failure].append((call, outcome))
    for (library, failure), rows in sorted(groups.items()):
        outcomes = collections.Counter(outcome for _, outcome in rows)
        said = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
        print(f"{library:<14}{failure:<15}{len({call for call, _ in rows}):>10}{len(rows):>10}  {said}")


def may_end(probe, call, failure, late):
    """The outcomes that this failure may have. late: it may be the last call of its function."""
    ends = {SAYS[failure]}
    if call in OPENS:
        ends.add("not opened")
    if call.startswith("nvml") or any(word in call for word in RELEASES) or call in POLLS:
        ends.add("right")
    if call in CAPTURES and failure == "unsupported":
        ends.add("right")
    if call.startswith("nccl") or call == "asynchronous_error":
        ends |= {"fault", "lost"}  # NCCL's codes do not tell one from the other
    if late and (call in LATE or (call in LATE_CAPTURED and failure == "unsupported")):
        ends.add("right")
    if probe == "describe" and (failure == "out_of_memory" or call in UNKNOWN):
        ends.add("right")  # a machine with its memory in use is one, too
    return ends


def failures(folder, each, probes):
    """[[probe, call, failure, outcome, reason]] of two devices."""
    lines = [line for probe in probes or [""] for line in stand_in.drive(folder, 2, "failing", each, probe)]
    if not probes:  # what is asked where NVML says nothing
        lines += stand_in.drive(folder, "2 nvml=0", "failing", each, "describe")
    return [line.split(" | ", 4) for line in lines if line.count(" | ") >= 4]


def main():
    folder, (each, *probes) = stand_in.built(sys.argv[1:])
    found = failures(folder, each, probes)
    assert len(found) > 100, f"{len(found)} failures"
    faults = [row for row in found if row[3] not in may_end(*row[:3], each != "1")]
    faults += [row for row in found if row[3] != "right" and not row[4].strip()]
    if not probes:
        never = called_in_sources() - {row[1] for row in found} - set(POLLS)  # a fast machine has nothing to wait for
        faults += [("every probe", call, "none of them", "never failed") for call in sorted(never)]
    for row in faults:
        print("not as it must be: " + " | ".join(row))
    print_counts(found)
    print(f"{len(found)} failures of {len({row[1] for row in found})} functions in {len({row[0] for row in found})} probes: none hangs, "
          f"none leaks, {len(faults)} end in another way than they may")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
