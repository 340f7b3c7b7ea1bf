/// \file test_commands.cpp
/// Outputs of the commands that diagnose asks for, given back to it.

#include "catch.hpp"
#include "unit/diagnose/logs.hpp"

using namespace fabricost::observe;

namespace {

const char* const legend =
    "\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n  GNS  = GPU not supported\n"
    "  TNS  = Topology not supported\n  NS   = Not supported\n  U    = Unknown\n";

}  // namespace

TEST_CASE("nvidia-smi topo -p2p says whether GPUs reach each other; its legend says nothing") {
  for (const char* state : {"CNS", "GNS", "TNS", "NS"}) {
    const Diagnosis d = diagnosed(std::string(" \tGPU0\tGPU1\n GPU0\tX\t") + state + "\n GPU1\t" + state + "\tX\n" + legend);
    INFO(state << causes_of(d));
    REQUIRE(d.causes.size() == 1);
    CHECK(d.causes.front().cause == Cause::no_p2p_shm);
    CHECK(d.causes.front().evidence.find("line 2") != std::string::npos);
  }
  const std::string with_blanks = "        GPU0    GPU1\n GPU0   X       NS\n GPU1   NS      X\n";
  CHECK(names(diagnosed(with_blanks), Cause::no_p2p_shm));
  const Diagnosis fine = diagnosed(std::string(" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n") + legend);
  INFO(causes_of(fine));
  CHECK(fine.causes.empty());
}

TEST_CASE("nvidia-imex-ctl -N names the node that is not ready; its legend says nothing") {
  const std::string explained =
      "Connectivity Table Legend:\nI - Invalid - Node wasn't reachable, no connection status available\n"
      "!V! - Version mismatch, communication disabled.\nC - Connected - Ready for operation\n\nNodes:\n"
      "Node #0   * 10.0.0.1 *   - READY          - Version: 570.86.15  - Hostname: n0\n";
  const Diagnosis d = diagnosed(explained + "Node #1   - 10.0.0.2 -   - UNAVAILABLE    - Version:   - Hostname: n1\n");
  INFO(causes_of(d));
  REQUIRE(d.causes.size() == 1);
  CHECK(d.causes.front().cause == Cause::imex);
}

TEST_CASE("a small or full /dev/shm, a job without memory, a missing library and a waiting data loader are told from their commands") {
  const std::string head = "Filesystem      Size  Used Avail Use% Mounted on\n";
  CHECK(names(diagnosed(head + "shm              64M     0   64M   0% /dev/shm\n"), Cause::no_p2p_shm));
  CHECK(names(diagnosed(head + "tmpfs           252G  252G     0 100% /dev/shm\n"), Cause::no_p2p_shm));
  CHECK(names(diagnosed("       State ExitCode     MaxRSS\n---------- -------- ----------\nOUT_OF_ME+    0:125\n"), Cause::host_memory));
  CHECK(names(diagnosed("\tlibnccl.so.2 => /usr/lib/libnccl.so.2 (0x00007f)\n\tlibcudart.so.12 => not found\n"), Cause::version_mismatch));
  CHECK(names(diagnosed("Process 42: python train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\nThread 42 (idle): \"MainThread\"\n"
                        "    wait (multiprocessing/connection.py:936)\n    _try_get_data (torch/utils/data/dataloader.py:1133)\n"),
              Cause::rank_lost));
}

TEST_CASE("nvbandwidth that leaves copies out or reads back other bytes is no table, and has a cause") {
  const std::string head = "nvbandwidth Version: v0.7\nDevice 0: NVIDIA GeForce RTX 2080 Ti\nDevice 1: NVIDIA GeForce RTX 2080 Ti\n\n";
  CHECK(names(diagnosed(head + "Waiving device_to_device_memcpy_write_ce.\n"), Cause::no_p2p_shm));
  const Diagnosis wrong = diagnosed(head +
                                    "Running device_to_device_memcpy_read_ce.\n Invalid value when checking the pattern at 0x70a640000000\n"
                                    " Current offset : 11136 \n");
  INFO(causes_of(wrong));
  CHECK(names(wrong, Cause::iommu));
}

TEST_CASE("Horovod's stalled ranks and a message that only explains settings") {
  const Diagnosis stalled = diagnosed(
      "[1,0]<stderr>:W /tmp/horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or "
      "broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n[1,0]<stderr>:Stalled ranks:\n");
  CHECK(stalled.state == RunState::failed);
  CHECK(names(stalled, Cause::rank_lost));
  const Diagnosis truncated = diagnosed(
      "h1:1:2 [0] transport/net_socket.cc:561 NCCL WARN NET/Socket : peer 10.0.0.2<4> message truncated : receiving 8 bytes instead of 4. "
      "If you believe your socket network is in a healthy state, there may be a mismatch in collective sizes or environment settings "
      "(e.g. NCCL_PROTO, NCCL_ALGO) between ranks\n");
  CHECK(truncated.causes.front().cause == Cause::collective_mismatch);
  for (const Finding& one : truncated.causes) CHECK(one.cause != Cause::debug_env);
}
