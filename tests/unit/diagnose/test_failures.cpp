/// Messages of libraries, launchers and the kernel when a run fails, each in its own format with hosts and numbers of our own; signals
/// from comparing ranks; and lines that are no failure.

#include "catch.hpp"
#include "unit/diagnose/logs.hpp"

using namespace fabricost::observe;

namespace {

struct Failure {
  const char* what;
  const char* log;
  Cause cause;
};

const Failure failures[] = {
    {"imex",
     "[2025-11-30 05:55:16] nccl-x:1:1 [1] include/alloc.h:228 NCCL WARN Cuda failure 800 'operation not "
     "permitted'\n"
     "[2025-11-30 05:55:16] nccl-x:1:1 [1] mnnvl.cc:67 NCCL WARN MNNVL (cliqueSize 8) is available but not working "
     "on this system. Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels). Set "
     "NCCL_MNNVL_ENABLE=0 to ignore this issue.\n"
     "nccl-x:1:1 [1] NCCL INFO init.cc:915 -> 2\n"
     "nccl-x: Test NCCL failure common.cu:1279 'unhandled system error (run with NCCL_DEBUG=INFO for details) / '\n",
     Cause::imex},
    {"ver",
     "h1:100:200 [0] init.cc:900 NCCL WARN Mismatched NCCL version detected : rank 0 used version 22005 rank 8 used "
     "version 21805\n",
     Cause::version_mismatch},
    {"efa",
     "h1:100:200 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.7.4\n"
     "h1:100:200 [0] nccl_net_ofi_create_plugin:203 NCCL WARN NET/OFI Unable to find a protocol that worked. "
     "Failing initialization.\n"
     "h1:100:200 [0] ofi_init:1304 NCCL WARN NET/OFI OFI fi_getinfo() call failed: No data available\n",
     Cause::plugin_missing},
    {"illegal",
     "h1:100:200 [0] enqueue.cc:1200 NCCL WARN Cuda failure 700 'an illegal memory access was encountered'\n"
     "terminate called after throwing an instance of 'c10::DistBackendError'\n",
     Cause::program_error},
    {"ordinal", "n1: Test CUDA failure common.cu:894 'invalid device ordinal'\n", Cause::launch_mistake},
    {"store", "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 15/16 clients joined.\n",
     Cause::rank_lost},
    {"ibdev",
     "h1:100:200 [0] misc/ibvwrap.cc:94 NCCL WARN Call to ibv_open_device failed\n"
     "h1:100:200 [0] transport/net_ib.cc:150 NCCL WARN NET/IB : Unable to open device mlx5_0\n"
     "h1:100:200 [0] NCCL INFO Using network Socket\n",
     Cause::tcp_fallback},
    {"aer", "[ 12.3] pcieport 0000:80:01.0: AER: Uncorrected (Fatal) error received: 0000:81:00.0\n", Cause::pcie_downgraded},
    {"flush",
     "h1:100:200 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4> with error 5, "
     "opcode 0, len 0, vendor err 249 (Recv)\n",
     Cause::rank_lost},
    {"peers", "h1:100:200 [0] include/alloc.h:79 NCCL WARN Cuda failure 711 'peer mapping resources exhausted'\n", Cause::no_p2p_shm},
    {"progress",
     "h1:100:200 [0] NCCL INFO misc/socket.cc:505 -> 2 (Operation now in progress)\n"
     "h1:100:200 [0] NCCL INFO bootstrap.cc:275 -> 2\n",
     Cause::bootstrap_network},
    {"port of a newer NCCL",
     "h1:100:200 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_3:1 Got async error event: port error\n"
     "RuntimeError: NCCL communicator was aborted\n",
     Cause::link_failed},
    {"chosen devices",
     "UCX_NET_DEVICES=mlx5_0:1\n[17.1] [h1:1:0] select.c:649  UCX  ERROR   no active messages transport to <no debug data>: self/memory "
     "- no peer failure handler\n",
     Cause::debug_env},
    {"trail of the start",
     "h1:100:200 [0] NCCL INFO bootstrap.cc:275 -> 2\n"
     "h1:100:200 [0] NCCL INFO init.cc:1493 -> 2\n",
     Cause::bootstrap_network},
    {"trail",
     "h1:100:200 [0] NCCL INFO init.cc:1493 -> 3\n"
     "h1:100:200 [0] NCCL INFO group.cc:64 -> 3 [Async thread]\n",
     Cause::other},
};

std::string watchdog(int rank, int number, const std::string& operation, int elements) {
  return fmt::format(
      "[rank{0}]:[E626 06:24:44 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum={1}, OpType={2}, NumelIn={3}, NumelOut={3}, Timeout(ms)=600000) ran for 600020 milliseconds "
      "before timing out.\n",
      rank, number, operation, elements);
}

std::string watchdogs(int ranks, int odd, int number, const std::string& operation, int elements) {
  std::string out;
  for (int rank = 0; rank < ranks; ++rank)
    out += rank == odd ? watchdog(rank, number, operation, elements) : watchdog(rank, 808, "ALLREDUCE", 4096);
  return out;
}

}  // namespace

TEST_CASE("a line that a library prints when a run fails names the cause, and the run is called failed") {
  for (const Failure& one : failures) {
    const Diagnosis d = diagnosed(one.log);
    INFO(one.what << ": " << causes_of(d));
    CHECK(d.state == RunState::failed);
    CHECK_FALSE(d.healthy);
    CHECK(names(d, one.cause));
    CHECK(d.verdict.starts_with("failed: "));
  }
}

TEST_CASE("ranks that wait for different collectives are named, and so are those behind and those missing") {
  const auto first = [](const std::string& log, Cause cause, const char* says) {
    const Diagnosis d = diagnosed(log);
    INFO(causes_of(d));
    REQUIRE_FALSE(d.causes.empty());
    CHECK(d.causes.front().cause == cause);
    CHECK((d.causes.front().evidence + d.causes.front().remedy).find(says) != std::string::npos);
  };
  first(watchdogs(8, 5, 808, "BROADCAST", 12), Cause::collective_mismatch, "rank 5 took another way");
  first(watchdogs(8, 5, 808, "ALLREDUCE", 4095), Cause::collective_mismatch, "rank 5 took another way");
  first(watchdogs(8, 5, 807, "ALLREDUCE", 4096), Cause::rank_lost, "rank 5 waited for number 807");
  first(watchdogs(8, 5, 0, "ALLREDUCE", 4096), Cause::rank_lost, "rank 5 waited for number 0");
  first(watchdog(0, 0, "ALLREDUCE", 4096) + watchdog(1, 0, "ALLREDUCE", 4096), Cause::rank_lost, "ALLREDUCE number 0");
  first(watchdog(0, 0, "ALLREDUCE", 4096) + watchdog(1, 0, "ALLREDUCE", 4096), Cause::rank_lost, "rank 0, 1");
  std::string missing = "WORLD_SIZE=8\n";
  for (const int rank : {0, 1, 2, 3, 4, 6, 7}) missing += watchdog(rank, 808, "ALLREDUCE", 4096);
  first(missing, Cause::rank_lost, "rank 5 did not");
  std::string joining;
  for (const int rank : {0, 1, 2, 3, 4, 6, 7})
    joining +=
        fmt::format("h:1:2 [0] NCCL INFO ncclCommInitRank comm 0x5 rank {} nranks 8 cudaDev 0 busId 1000 commId 0xab - Init START\n", rank);
  first(joining, Cause::rank_lost, "rank 5 did not");
  first(joining.substr(0, joining.rfind("h:1:2", joining.find("rank 4 "))), Cause::rank_lost, "rank 4-7 did not");
}

TEST_CASE("a rank that called a collective and did not complete it is stuck in it, one that did not call is behind") {
  const auto progress = [](int rank, int enqueued, int completed) {
    return fmt::format("[rank{0}]:[E1130 10:20:01.1 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {0}] Exception (either an "
                       "error or timeout) detected by watchdog at work: {1}, last enqueued NCCL work: {1}, last completed NCCL work: {2}.\n",
                       rank, enqueued, completed);
  };
  const Diagnosis stuck = diagnosed(progress(3, 1841, 1840) + progress(5, 1840, 1839));
  INFO(causes_of(stuck));
  CHECK(stuck.verdict.find("do not complete a collective that others have completed") != std::string::npos);
  CHECK(stuck.causes.front().evidence.find("rank 5 called number 1840 and did not complete it") != std::string::npos);
  const Diagnosis behind = diagnosed(progress(3, 1841, 1840) + progress(5, 1840, 1840));
  INFO(causes_of(behind));
  CHECK(behind.verdict.find("never called the collective") != std::string::npos);
}

TEST_CASE("ranks of different process groups may wait for different collectives") {
  std::string log;
  for (int rank = 0; rank < 4; ++rank) {
    std::string one = watchdog(rank, 808, rank < 2 ? "ALLREDUCE" : "BROADCAST", 4096);
    one.replace(one.find("[Rank "), 6, rank < 2 ? "[PG ID 1 PG GUID 3(tp) Rank " : "[PG ID 2 PG GUID 5(dp) Rank ");
    log += one;
  }
  const Diagnosis d = diagnosed(log);
  INFO(causes_of(d));
  CHECK(d.causes.front().cause == Cause::rank_lost);
  CHECK(causes_of(d).find(" in BROADCAST") == std::string::npos);
  CHECK(d.state == RunState::failed);
}

TEST_CASE("an error that no rule explains is a failure that is not understood, quoted with its line") {
  const Diagnosis d = diagnosed("fine\nh:1:2 [0] transport.cc:99 NCCL WARN The flux capacitor is empty\n");
  CHECK(d.state == RunState::failed);
  CHECK(d.verdict.find("not understood") != std::string::npos);
  CHECK(d.verdict.find("line 2: h:1:2 [0] transport.cc:99") != std::string::npos);
  // beside one that is understood it is a note, and the lines of that one are none
  const Diagnosis both =
      diagnosed(std::string{failures[0].log} + "h:1:2 [0] transport/net_ib.cc:9 NCCL WARN The flux capacitor is empty\n");
  INFO(causes_of(both));
  REQUIRE_FALSE(both.causes.empty());
  CHECK(both.causes.front().cause == Cause::imex);
  CHECK_FALSE(names(both, Cause::link_failed));
  for (const std::string& note : both.notes)
    CHECK((note.find("not explained") == std::string::npos || note.find("flux") != std::string::npos));
}

TEST_CASE("a log whose ranks connected is a part of one, and its communicator was made") {
  std::string begun;
  for (const int rank : {0, 1})
    begun += fmt::format(
        "h:1:2 [{0}] NCCL INFO ncclCommInitRank comm 0x5 rank {0} nranks 2 cudaDev {0} busId {0}1000 commId 0xab - Init START\n", rank);
  CHECK(names(diagnosed(begun), Cause::rank_lost));
  CHECK(diagnosed(begun + "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n").fine());
}

TEST_CASE("a port that registers again is no failure, nor is a word about what was not asked for") {
  for (const char* line : {"h:1:2 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_0:1 Got async event : client reregistration\n",
                           "h:1:2 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v9 symbol.\n",
                           "[pod/nccl-test-launcher-bound/main] # Out of bounds values : 0 OK\n"}) {
    const Diagnosis d = diagnosed(std::string{"h:1:2 [0] NCCL INFO cudaDriverVersion 12020\n"} + line);
    INFO(line << causes_of(d));
    CHECK(d.fine());
  }
}

TEST_CASE("a test that stops after its GPUs were connected, or runs each rank alone, failed") {
  const std::string head =
      "# nThread 1 nGpus 2\n#  Rank  0 Group  0 Pid 4 on h device  0 [0x07] NVIDIA GeForce RTX 4090\n"
      "#  Rank  1 Group  0 Pid 4 on h device  1 [0x08] NVIDIA GeForce RTX 4090\n";
  const Diagnosis hangs = diagnosed(head +
                                    "h:4:5 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n"
                                    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n");
  INFO(causes_of(hangs));
  CHECK(hangs.state == RunState::failed);
  CHECK(names(hangs, Cause::iommu));
  std::string alone;
  for (int pid = 0; pid < 2; ++pid)
    alone += fmt::format(
        "#  Rank  0 Group  0 Pid {} on h device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
        "   134217728      33554432     float     sum      -1    180.1  745.00    0.00      0\n",
        pid);
  const Diagnosis each = diagnosed(alone);
  INFO(causes_of(each));
  CHECK(each.state == RunState::failed);
  CHECK(names(each, Cause::launch_mistake));
  CHECK(causes_of(each).find("2 processes") != std::string::npos);
}

TEST_CASE("a code of an error is read where it stands, not in whatever number holds its digits") {
  const Diagnosis tasks = diagnosed("RuntimeError: it ended\nsrun: error: h1: tasks 2-7: Exited with exit code 1\n");
  CHECK_FALSE(names(tasks, Cause::no_p2p_shm));
  CHECK(names(diagnosed("Worker ended with exit code -7\n"), Cause::no_p2p_shm));
  CHECK_FALSE(names(diagnosed("RuntimeError: worker 1800: cuMemCreate failed: invalid value\n"), Cause::imex));
}

TEST_CASE("two tests at once on one host are told from two in turn") {
  const std::string row = "  134217728  33554432  float  sum  -1  27691  4.85  4.85  0\n";
  const auto ranks = [](int pid) {
    return fmt::format(
        "#  Rank  0 Group  0 Pid {} on h1 device  0 [0x06] NVIDIA A100-SXM4-40GB\n"
        "#  Rank  1 Group  0 Pid {} on h1 device  1 [0x07] NVIDIA A100-SXM4-40GB\n",
        pid, pid);
  };
  const std::string head = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  const std::string end = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 4.85\n#\n# Using devices\n";
  CHECK(names(diagnosed(ranks(11) + ranks(12) + head + row + row), Cause::launch_mistake));
  CHECK_FALSE(names(diagnosed(ranks(11) + head + row + row + end + ranks(12) + head + row + row + end), Cause::launch_mistake));
}
