// Each message of NCCL that stands for a cause, in the forms it had over versions, and its healthy look-alike beside it.
#include "diagnose/quoted.hpp"
#include "unit/diagnose/logs.hpp"

#include "catch.hpp"

using namespace fabricost::observe;

namespace {

struct Case {
  const char* what;
  const char* log;
  Cause cause;
};

// Lines in NCCL's own formats, with hosts and numbers of our own.
const Case cases[] = {
    {"module missing", "a:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 3 'mlx5_9'\n", Cause::gdr_off},
    {"too far", "a:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 17000 / HCA 1 (distance 7 > 5)\n", Cause::gdr_off},
    {"no suffix",
     "a:1:2 [0] NCCL INFO Channel 00/0 : 0[1] -> 4[1] [send] via NET/IB/0\na:1:2 [0] NCCL INFO Channel 01/0 : 0[1] -> 4[1] [send] via "
     "NET/IB/0\n",
     Cause::gdr_off},
    {"level set", "a:1:2 [0] NCCL INFO NCCL_NET_GDR_LEVEL set by environment to LOC\n", Cause::gdr_off},
    {"old completion",
     "a:1:2 [0] transport/net_ib.cc:99 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\n",
     Cause::roce_untuned},
    {"new completion",
     "a:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.1<1> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) "
     "vendor_err=0x81\n",
     Cause::roce_untuned},
    {"protection", "a:1:2 [0] NCCL WARN NET/IB : Got completion from peer x with error 4, opcode 1, len 0, vendor err 81\n",
     Cause::acs_enabled},
    {"lspci", "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n", Cause::acs_enabled},
    {"DMAR", "[  12.3] DMAR: [DMA Read] Request device [3b:00.0] fault addr 0xff\n", Cause::iommu},
    {"sockets", "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n", Cause::tcp_fallback},
    {"no verbs", "a:1:2 [0] NCCL INFO NET/IB : No device found.\na:1:2 [0] NCCL INFO Using network Socket\n", Cause::tcp_fallback},
    {"provider", "a:1:2 [0] NCCL INFO NET/OFI Selected Provider is tcp\n", Cause::tcp_fallback},
    {"variable", "a:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n", Cause::tcp_fallback},
    {"P2P off", "a:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n", Cause::debug_env},
    {"shared memory", "a:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n", Cause::no_p2p_shm},
    {"no /dev/shm", "a:1:2 [0] NCCL WARN Error while creating shared memory segment nccl-shm-recv-1 (size 9637888)\n", Cause::no_p2p_shm},
    {"one host",
     "a:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] [send] via NET/IB/0\na:2:3 [1] NCCL INFO Channel 00 : 0[0] -> 1[1] [receive] via "
     "NET/IB/0\n",
     Cause::no_p2p_shm},
    {"no multicast",
     "# Rank 0 Group 0 Pid 1 on a device 0 [0x0f] NVIDIA H200\na:1:2 [0] NCCL INFO NVLS multicast support is not available on dev 0\n",
     Cause::nvls_off},
    {"NVLS off", "a:1:2 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n", Cause::nvls_off},
    {"few channels", "a:1:2 [0] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 4.\n", Cause::few_channels},
    {"PCIe", "LnkSta: Speed 8GT/s (downgraded), Width x16 (ok)\n", Cause::pcie_downgraded},
    {"PCIe, older lspci", "LnkCap: Port #0, Speed 16GT/s, Width x16\nLnkSta: Speed 16GT/s, Width x8\n", Cause::pcie_downgraded},
    {"guest", "a:1:2 [0] NCCL INFO + PCI[0.1] - PCI/10000 (1)\na:1:2 [0] NCCL INFO + PCI[24.0] - GPU/11000 (0)\n",
     Cause::container_vm_topology},
    {"half of the lanes", "a:1:2 [0] NCCL INFO hello\nrate: 200 Gb/sec (2X NDR)\n", Cause::half_rate_link},
    {"one slow port", "Rate: 400\nRate: 400\nRate: 200\n", Cause::half_rate_link},
    {"one slow adapter", "a:1:2 [0] NCCL INFO   + NET[50.0] - NET/0 (7a/1/50.0)\na:1:2 [0] NCCL INFO   + NET[25.0] - NET/1 (7b/1/25.0)\n",
     Cause::half_rate_link},
    {"idle rails",
     "a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB ; OOB e:1\n"
     "a:1:2 [0] NCCL INFO Channel 00/0 : 0[1] -> 4[1] [send] via NET/IB/0/GDRDMA\na:1:2 [0] NCCL INFO 2 coll channels, 2 p2p channels\n",
     Cause::rail_missing},
    {"two tests", "# Rank 0 Group 0 Pid 1 on a device 0 [0x03] NVIDIA A100\n# Rank 0 Group 0 Pid 1 on b device 0 [0x03] NVIDIA A100\n",
     Cause::launch_mistake},
    {"receives staged on one host, sends direct on another",
     "a:1:2 [0] NCCL INFO Channel 00/0 : 9[1a000] -> 2[6b000] [receive] via NET/IB/1\n"
     "b:1:2 [1] NCCL INFO Channel 00/0 : 9[1a000] -> 2[6b000] [send] via NET/IB/0/GDRDMA\n",
     Cause::gdr_off},
    {"no multicast group left",
     "ncclUnhandledCudaError: Call to CUDA function failed.\n"
     "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 4194304 : CUDA error 2 'out of memory'.\n",
     Cause::nvls_off},
    {"fabric manager's own log",
     "[Jan 02 2026 03:04:05] [ERROR] [tid 99] not all local fabric manager instances finished their configuration\n"
     "[Jan 02 2026 03:04:05] [ERROR] [tid 99] failed to configure all the available GPUs or NVSwitches\n",
     Cause::fabric_manager},
    {"fabric manager without NVLSM",
     "GPU 0: NVIDIA B200 (UUID: GPU-1)\nnv-fabricmanager[9]: request to query NVSwitch device information from NVSwitch driver failed "
     "with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]\n",
     Cause::fabric_manager},
    {"the start stops in the switches",
     "a:1:2 [0] NCCL INFO Connected all trees\na:1:2 [0] NCCL INFO NVLS Bind mem 0xa0 UC handle 0x7f MC handle 0x7e size 1073741824\n",
     Cause::fabric_manager},
    {"UCX without verbs", "# ucx_info -d\n#      Transport: self\n#      Transport: tcp\n#      Transport: cuda_copy\n",
     Cause::tcp_fallback},
    {"SHARP's port", "[a:0:9 unique id 77] ERROR collect_ports_data: device mlx5_3 port 1 is not valid (port is used by SM)\n",
     Cause::other},
    {"power brake", "GPU 00000000:1B:00.0\n        HW Power Brake Slowdown           : Active\n", Cause::stragglers},
    {"small /dev/shm, in Ray's words",
     "WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only 67108864 bytes available.\n"
     "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n",
     Cause::no_p2p_shm},
    {"oneCCL's direct algorithm",
     "|CCL_INFO| library version: 2022.0\nRuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)\n",
     Cause::bug_in_version},
    {"queue refused, in Open MPI's words", "Failed to create a completion queue (CQ):\nHostname: a\nError:    Cannot allocate memory\n",
     Cause::locked_memory},
    {"an adapter behind a slow link",
     "a:1:2 [0] NCCL INFO + PCI[48.0] - PCI/0-15000 (1)\na:1:2 [0] NCCL INFO   + PCI[48.0] - GPU/0-1b000 (0)\n"
     "a:1:2 [0] NCCL INFO   + PCI[48.0] - NIC/0-1b100\na:1:2 [0] NCCL INFO     + NET[50.0] - NET/0-0 (0/0/50.0)\n"
     "a:1:2 [0] NCCL INFO   + PCI[12.0] - NIC/0-1c100\na:1:2 [0] NCCL INFO     + NET[50.0] - NET/0-1 (1/0/50.0)\n",
     Cause::pcie_downgraded},
    {"far adapters",
     "a:1:2 [0] NCCL INFO GPU/0-1b000 :GPU/0-1b000 (0/5000.0/LOC) CPU/0-0 (3/24.0/PHB) NET/0-0 (5/24.0/SYS) NET/0-1 (4/24.0/PHB)\n"
     "a:1:2 [0] NCCL INFO GPU/0-2b000 :GPU/0-1b000 (2/370.8/NVL) CPU/0-0 (3/24.0/PHB) NET/0-0 (5/24.0/SYS) NET/0-1 (4/24.0/PHB)\n",
     Cause::nic_wrong_numa},
    {"one adapter chosen", "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 16 localRanks 8\na:1:2 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0\n",
     Cause::rail_missing},
    {"a GPU with fewer NVLinks", "GPU0 X NV18 NV18 NV12\nGPU1 NV18 X NV18 NV12\nGPU2 NV18 NV18 X NV12\nGPU3 NV12 NV12 NV12 X\n", Cause::nvlink_not_used},
    {"verbs of another release",
     "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 9 (supports 1 to 6) for device "
     "/sys/class/infiniband/bnxt_re7\n"
     "a:1:2 [0] NCCL INFO NET/IB : No device found.\n",
     Cause::version_mismatch},
    {"bridged pairs", "GPU0 X NV12 SYS SYS 0-31 0\nGPU1 NV12 X SYS SYS 0-31 0\nGPU2 SYS SYS X NV12 32-63 1\nGPU3 SYS SYS NV12 X 32-63 1\n",
     Cause::nvlink_not_used},
};

}  // namespace

TEST_CASE("a message that stands for a cause names it, with the line it stands in") {
  for (const Case& one : cases) {
    const Diagnosis d = diagnosed(one.log);
    INFO(one.what << ": " << causes_of(d));
    CHECK_FALSE(d.fine());
    CHECK(names(d, one.cause));
    REQUIRE_FALSE(d.causes.empty());
    CHECK(d.causes.front().confidence > 0);
    CHECK(d.causes.front().confidence <= 1);
    CHECK_FALSE(d.causes.front().remedy.empty());
  }
}

TEST_CASE("what is not read, what is missing and what another machine has is said") {
  const std::string ranks = "# Rank 0 Group 0 Pid 1 on a device 0 [0x0f] NVIDIA H100 80GB HBM3\na:1:2 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n";
  std::string ended;
  for (int i = 0; i < 16; ++i)
    if (i != 5)
      ended += fmt::format("a:{0}:2 [0] NCCL INFO ncclCommInitRank comm 0x5 rank {0} nranks 16 cudaDev 0 busId 1000 commId 0x7a - Init COMPLETE\n", i);
  const Diagnosis fabric = diagnosed("vendid=0x2c9\nswitchguid=0xb8(b8)\nSwitch 65 \"S-b8\" # \"leaf01\" lid 3\n[1] \"H-b9\"[1](b9) # \"a mlx5_0\" lid 12 4xNDR\n");
  CHECK(fabric.verdict.find("ibnetdiscover is not read") != std::string::npos);
  const Diagnosis begun = diagnosed(ranks + "a:1:2 [0] NCCL INFO Using network IB\n");
  CHECK(std::any_of(begun.notes.begin(), begun.notes.end(), [](const std::string& one) { return one.starts_with("no rank says \"Init COMPLETE\""); }));
  const Diagnosis without = diagnosed(ended);
  INFO(causes_of(without));
  CHECK(without.causes.front().evidence.find("15 of 16 ranks say \"Init COMPLETE\", rank 5 does not") != std::string::npos);
  CHECK(diagnosed(ranks, {.system = {"dgx-h200"}}).verdict.find("dgx-h200 has h200-sxm") != std::string::npos);
  const std::string twice = table("NVIDIA H100 80GB HBM3", 1, 8, {{1e9, 480}});
  CHECK(diagnosed(twice + twice, {.system = {"dgx-h100"}}).verdict.find("lists more ranks") == std::string::npos);
}

TEST_CASE("evidence quotes the number and the text of its line") {
  const Diagnosis d = diagnosed("first\n\nx:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n");
  REQUIRE(names(d, Cause::gdr_off));
  CHECK(d.causes.front().evidence.find("line 3: x:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0") != std::string::npos);
}

TEST_CASE("normal messages accuse nobody") {
  // a prefix names all adapters of a driver; GPUs that have an adapter below their own switch, and others far away;
  // one node needs no network; GPUDirect of a socket device is nothing; boards of four have no switch; Ampere has no multicast
  const char* const normal[] = {
      "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 16 localRanks 8\na:1:2 [0] NCCL INFO NCCL_IB_HCA set to mlx5\n",
      "a:1:2 [0] NCCL INFO GPU/0-1b000 :CPU/0-0 (3/24.0/PHB) NET/0-0 (5/24.0/SYS) NET/0-1 (3/48.0/PXB)\n"
      "a:1:2 [0] NCCL INFO + PCI[48.0] - NIC/0-1b100\na:1:2 [0] NCCL INFO   + NET[50.0] - NET/0-0 (0/0/50.0)\n",
      "# Rank 0 Group 0 Pid 1 on a device 0 [0x01] NVIDIA A100-SXM4-80GB\n# Rank 1 Group 0 Pid 1 on a device 1 [0x02] NVIDIA "
      "A100-SXM4-80GB\n"
      "a:1:2 [0] NCCL INFO NET/IB : No device found.\na:1:2 [0] NCCL INFO Using network Socket\n"
      "a:1:2 [0] NCCL INFO NET/Socket : GPU Direct RDMA Disabled for HCA 0 'eth0'\n"
      "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\na:1:2 [0] NCCL INFO NVLS multicast support is not available on dev "
      "0\n",
      "# Rank 0 Group 0 Pid 1 on a device 0 [0x01] NVIDIA GH200 480GB\n"
      "a:1:2 [0] NCCL INFO NVLS multicast support is not available on dev 0\n",
      "a:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.\na:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; "
      "OOB e:1\n"
      "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
      "a:1:2 [0] NCCL INFO Channel 01/0 : 1[1] -> 9[1] [send] via NET/IB/1/GDRDMA\n",
      "ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-\na:1:2 [0] NCCL INFO cudaDriverVersion 12020\n",
      "LnkCap: Port #0, Speed 16GT/s, Width x16\nLnkSta: Speed 16GT/s, Width x16\na:1:2 [0] NCCL INFO cudaDriverVersion 12020\n",
      "Rate: 400\nRate: 400\na:1:2 [0] NCCL INFO cudaDriverVersion 12020\n",
      // a host may receive directly what it cannot send so
      "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [receive] via NET/IB/0/GDRDMA\n"
      "a:1:2 [0] NCCL INFO NVLS Bind mem 0xa0 UC handle 0x7f MC handle 0x7e size 1024\n"
      "a:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 16 cudaDev 0 busId 1b000 - Init COMPLETE\n",
      "a:1:2 [0] NCCL INFO cudaDriverVersion 12020\n#      Transport: tcp\n#      Transport: rc_mlx5\n",
      "a:1:2 [0] NCCL INFO cudaDriverVersion 12020\n        HW Power Brake Slowdown           : Not Active\n",
      // a hybrid cube mesh leaves pairs without a link and closes its rings all the same
      "GPU0 X NV1 NV1 NV2 NV2 SYS SYS SYS\nGPU1 NV1 X NV2 NV1 SYS NV2 SYS SYS\nGPU2 NV1 NV2 X NV2 SYS SYS NV1 SYS\nGPU3 NV2 NV1 NV2 X SYS "
      "SYS SYS NV1\n"
      "GPU4 NV2 SYS SYS SYS X NV1 NV1 NV2\nGPU5 SYS NV2 SYS SYS NV1 X NV2 NV1\nGPU6 SYS SYS NV1 SYS NV1 NV2 X NV2\nGPU7 SYS SYS SYS NV1 "
      "NV2 NV1 NV2 X\n",
  };
  for (const char* log : normal) {
    const Diagnosis d = diagnosed(log);
    INFO(log << causes_of(d));
    CHECK(d.fine());
    CHECK(d.causes.empty());
  }
}

TEST_CASE("what people quote behind a # is not what NCCL said") {
  // the run uses sockets; the adapter stands in a line that was hoped for
  const Diagnosis d = diagnosed("NCCL INFO NET/Socket : Using [0]eth7:10.1.1.1<0>\n#wanted: NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n");
  INFO(causes_of(d));
  CHECK(names(d, Cause::tcp_fallback));
  CHECK(d.causes.front().cause == Cause::tcp_fallback);
}

TEST_CASE("connections that show a few channels only prove nothing about the adapters of the others") {
  const std::string adapters = "a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB ; OOB e:1\n";
  std::string some = adapters + "a:1:2 [0] NCCL INFO 8 coll channels, 8 p2p channels\n", all = some;
  for (int i = 0; i < 4; ++i) some += "a:1:2 [0] NCCL INFO Channel 00/0 : 0[1] -> 4[1] [send] via NET/IB/2/GDRDMA\n";
  for (int i = 0; i < 8; ++i) all += fmt::format("a:1:2 [0] NCCL INFO Channel 0{}/0 : 0[1] -> 4[1] [send] via NET/IB/2/GDRDMA\n", i);
  CHECK(diagnosed(some).fine());
  CHECK(names(diagnosed(all), Cause::rail_missing));
}

TEST_CASE("settings that cost nothing where they are set accuse nobody") {
  const std::string two_nodes =
      "# Rank 0 Group 0 Pid 1 on a device 0 [0x01] NVIDIA A100\n# Rank 1 Group 0 Pid 1 on b device 0 [0x01] NVIDIA A100\n";
  const std::string one_node =
      "# Rank 0 Group 0 Pid 1 on a device 0 [0x01] NVIDIA A100\n# Rank 1 Group 0 Pid 1 on a device 1 [0x02] NVIDIA A100\n";
  // one rank a node has no neighbour; one node has no network; launchers and tuning knobs in a command line are no faults
  CHECK(diagnosed(two_nodes + "a:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n").fine());
  CHECK(diagnosed(one_node + "a:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n").fine());
  CHECK(diagnosed("# nThread 1 nGpus 1\nmpirun --bind-to none -np 16 -H a:8,b:8 -x NCCL_IB_QPS_PER_CONNECTION=4 -x "
                  "NCCL_IB_PCI_RELAXED_ORDERING=1 all_reduce_perf\n")
            .fine());
  CHECK(diagnosed("a:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 0.\n").fine());
  // and where they cost
  CHECK_FALSE(diagnosed(one_node + "a:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n").fine());
  CHECK_FALSE(diagnosed(two_nodes + "a:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n").fine());
  CHECK(names(diagnosed("mpirun -np 16 -H a:8,b:8 -x NCCL_IB_HCA=mlx5_0 all_reduce_perf\n"), Cause::rail_missing));
}

TEST_CASE("an engine that waits once is idle or compiles, one that waits for minutes hangs") {
  const std::string waits = "(EngineCore_DP0 pid=7) INFO [shm_broadcast.py:466] No available shared memory broadcast block found\n";
  CHECK(diagnosed("# vLLM on 2 GPUs\n" + waits).state == RunState::nothing_to_judge);
  CHECK((diagnosed(waits + waits + waits).state == RunState::failed && names(diagnosed(waits + waits + waits), Cause::rank_lost)));
  // boards on PCIe that were connected directly: their transfers never arrive
  const std::string direct = "|   0  NVIDIA RTX PRO 6000 Blac...    Off |\na:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  CHECK(names(diagnosed(direct + waits + waits + waits), Cause::iommu));
  CHECK_FALSE(names(diagnosed(direct + waits), Cause::iommu));
}

TEST_CASE("a node of two GPUs does not need its four adapters, nor does one adapter alone speak of a fault") {
  const std::string adapters =
      "a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [RO]; OOB e:1<0>\n";
  const std::string path = "a:1:2 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n";
  const auto ring = [](const std::string& ranks) { return "a:1:2 [0] NCCL INFO Channel 00/02 :    " + ranks + "\n"; };
  CHECK(names(diagnosed(adapters + ring("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15") + path), Cause::rail_missing));
  CHECK_FALSE(names(diagnosed(adapters + ring("0 1 2 3") + path), Cause::rail_missing));
  CHECK(diagnosed("a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB e:1<0>\na:1:2 [0] NCCL INFO Using network IB\n").state ==
        RunState::nothing_to_judge);
}

// Outputs of the commands that diagnose asks for, given back to it.

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

// Figures quoted beside a log: a difference between two of them is the cause.

namespace {

std::vector<diagnosis::Quoted> quoted(const std::string& text) {
  const TemporaryLog log(text);
  return diagnosis::quoted_figures(log.path());
}

}  // namespace

TEST_CASE("bits are divided by eight, ranges and tildes read, versions are no figures") {
  const auto q = quoted("# NCCL 2.30.1: 80 Gb/s; NCCL 2.31.2: ~9.5 GB/s; ring 11-12 GB/s\n");
  REQUIRE(q.size() == 3);
  CHECK(q[0].rate == Approx(10e9));
  CHECK(q[0].version == "2.30.1");
  CHECK(q[1].rate == Approx(9.5e9));
  CHECK(q[2].rate == Approx(11e9));
  CHECK(q[2].algorithm == "ring");
  // a unit at the number, words and spelled numbers at the figure, a size with its own unit; what names a source is no figure
  const auto only = [](const std::string& text) {
    const auto found = quoted(text);
    INFO(text << found.size() << " figures");
    REQUIRE(found.size() == 1);
    return found.front();
  };
  CHECK(only("#source https://x.org 90 GB/s\n#repo file b 70 GB/s\n# ring 80GB/s\n").rate == Approx(80e9));
  CHECK(only("# ring:90 GB/s\n").algorithm == "ring");
  CHECK(only("# two nodes ring 90 GB/s\n").nodes == 2);
  for (const char* size : {"1 MB", "1MB", "1 MB:"}) CHECK(only(fmt::format("# all_reduce {} ring 38 us\n", size)).bytes == 1 << 20);
  for (const char* words : {"across racks", "cross-rack", "different racks", "inter-rack", "over the spine", "double switch", "two racks"})
    CHECK(only(fmt::format("# {} ring 90 GB/s\n", words)).far);
  for (const char* who : {"NCCL", "RCCL", "ROCm", "version"}) CHECK(only(fmt::format("# {} 2.18 busbw 90 GB/s\n", who)).version == "2.18");
  const diagnosis::Quoted row = only("NVL8 24 tree 17179869184 253.40 485.68 0 0\n");
  CHECK(row.rate == Approx(485.68e9));
  CHECK(row.algorithm == "tree");
  const diagnosis::Quoted below = only("# with NCCL 2.19.3 and ring\n 1048576 262144 float sum -1 37.2 28.19 49.33 0\n");
  CHECK(below.rate == Approx(49.33e9));
  CHECK(below.version == "2.19.3");
  CHECK(quoted("with NCCL 2.19.3 and ring\n 1048576 262144 float sum -1 37.2 28.19 49.33 0\n").empty());  // no heading
}

TEST_CASE("a newer version that is slower is a fault of the version, an older one is not") {
  CHECK(names(diagnosed("# NCCL 2.30.1: 200 GB/s busbw\n# NCCL 2.31.2: 90 GB/s busbw\n"), Cause::bug_in_version));
  CHECK_FALSE(names(diagnosed("# NCCL 2.30.1: 90 GB/s busbw\n# NCCL 2.31.2: 200 GB/s busbw\n"), Cause::bug_in_version));
  CHECK(diagnosed("# NCCL 2.30.1: 200 GB/s busbw\n# NCCL 2.31.2: 195 GB/s busbw\n").fine());
}

TEST_CASE("a variable that mends a run says what was wrong") {
  const auto with = [](const std::string& variable) { return diagnosed("# busbw 50 GB/s; with " + variable + " 90 GB/s\n"); };
  CHECK(names(with("NCCL_NET_GDR_LEVEL=SYS"), Cause::gdr_off));
  CHECK(names(with("NCCL_MIN_NCHANNELS=32"), Cause::few_channels));
  CHECK(names(with("NCCL_ALGO=Tree"), Cause::algorithm_choice));
  CHECK(names(with("NCCL_TOPO_FILE=/x.xml"), Cause::container_vm_topology));
  // a variable that changes nothing, or makes it worse, was a test
  CHECK(diagnosed("# busbw 90 GB/s; with NCCL_ALGO=Tree 91 GB/s\n").fine());
}

TEST_CASE("the default that loses to another algorithm is a choice, a tree above the ring is none") {
  CHECK(names(diagnosed("# all_reduce default(ring) 40 GB/s; tree 55 GB/s\n"), Cause::algorithm_choice));
  CHECK_FALSE(names(diagnosed("# all_reduce default(ring) 40 GB/s; tree 41 GB/s\n"), Cause::algorithm_choice));
  const Diagnosis d = diagnosed("# 2 nodes all_reduce busbw: default 21 GB/s, ring 12 GB/s\n");
  INFO(causes_of(d));
  CHECK(d.fine());
  CHECK(names(d, Cause::expected_value_wrong));
}

TEST_CASE("a node in every slow pair is a straggler, slow pairs of nodes fast elsewhere are the network") {
  CHECK(names(diagnosed("# busbw GB/s by pair\n# n01,n02 20.1\n# n01,n03 41\n# n03,n04 41.2\n# n02,n04 20.4\n"), Cause::stragglers));
  const Diagnosis network = diagnosed("# busbw GB/s by pair\n# n01,n02 20.1\n# n01,n03 41\n# n02,n04 41.2\n# n03,n04 20.4\n");
  CHECK(network.causes.front().cause == Cause::oversubscription);
}

TEST_CASE("bandwidth that falls with every node is the network's, a step after two nodes the tree's") {
  CHECK(names(diagnosed("# all_reduce busbw: 2 nodes 90, 4 nodes 60, 8 nodes 30 GB/s\n"), Cause::oversubscription));
  const Diagnosis step = diagnosed("# all_reduce busbw: 2 nodes 90 GB/s, 4 nodes 60 GB/s\n");
  CHECK(step.fine());
  CHECK(names(step, Cause::expected_value_wrong));
}

TEST_CASE("a wire that carries what NCCL does not points at the way to the GPU, over a bond at its members") {
  const Diagnosis behind = diagnosed("# ib_write_bw: 390 Gb/s ; all_reduce_perf: 100 Gb/s\n");
  CHECK(names(behind, Cause::gdr_off));
  CHECK(causes_of(behind).find("on 0 nodes") == std::string::npos);
  CHECK(names(diagnosed("# ib_write_bw -d mlx5_bond_0 : 390 Gb/s ; all_reduce_perf: 200 Gb/s\n"), Cause::half_rate_link));
  CHECK(diagnosed("# ib_write_bw: 390 Gb/s ; all_reduce_perf: 380 Gb/s\n").fine());
}

TEST_CASE("hosts whose GPUs all have PCI addresses of their own may be containers of one machine") {
  const auto log = [](int addresses) {
    std::string out;
    for (int rank = 0; rank < 8; ++rank)
      out += fmt::format(
          "pod{0}:1:2 [0] NCCL INFO comm 0x5 rank {0} nranks 8 cudaDev 0 nvmlDev 0 busId {1}0000 commId 0x9 - Init COMPLETE\n"
          "pod{0}:1:2 [0] NCCL INFO comm 0x5 rank {0} nRanks 8 nNodes 8 localRanks 1 localRank 0 MNNVL 0\n"
          "pod{0}:1:2 [0] NCCL INFO Channel 00/0 : {0}[0] -> {2}[0] [send] via NET/IB/0\n",
          rank, 1 + rank % addresses, (rank + 1) % 8);
    return diagnosed(out);
  };
  INFO(causes_of(log(8)));
  CHECK(names(log(8), Cause::no_p2p_shm));
  CHECK_FALSE(names(log(1), Cause::no_p2p_shm));
  CHECK_FALSE(names(log(4), Cause::no_p2p_shm));
}

TEST_CASE("times of different things say nothing of each other") {
  const Diagnosis d = diagnosed(
      "INFO Time to get ids: 0.7 ms\nINFO Time to prepare: 0.5 ms\nINFO Time to start: 1800.3 ms\nINFO Time for all: 1803.4 ms\n");
  INFO(causes_of(d));
  CHECK_FALSE(names(d, Cause::roce_untuned));
  CHECK_FALSE(names(d, Cause::stragglers));
}

TEST_CASE("rare calls a hundred times longer are timeouts, even times are not") {
  CHECK(names(diagnosed("# all_reduce\n1MB took 500 us\n1MB took 510 us\n1MB took 60000 us\n1MB took 505 us\n1MB took 498 us\n"),
              Cause::roce_untuned));
  CHECK(
      diagnosed("# all_reduce bandwidth\n1MB took 500 us, 2 GB/s bandwidth\n1MB took 510 us\n1MB took 600 us\n1MB took 505 us\n").fine());
}

TEST_CASE("what is said once holds for the whole line, and two values of one variable are an experiment") {
  CHECK(names(diagnosed("# 16 nodes: default 22 GB/s, NCCL_NCHANNELS_PER_NET_PEER=4 41 GB/s\n"), Cause::few_channels));
  CHECK(names(diagnosed("# NCCL_NVLS_ENABLE=0 362 GB/s, NCCL_NVLS_ENABLE=1 478 GB/s\n"), Cause::nvls_off));
  CHECK(names(diagnosed("# all_reduce 1 MB: NCCL_PROTO=LL128 38 us, default 61 us\n"), Cause::ll128_off));
}

TEST_CASE("a figure without a table is right where the machine gives as much, and says nothing where it is another") {
  const auto of = [](const char* figure) { return diagnosed(std::string{"# 8 H100: all_reduce busbw "} + figure + "\n", {.system = {"dgx-h100"}}); };
  CHECK(names(of("478 GB/s"), Cause::expected_value_wrong));
  for (const char* other : {"300 GB/s", "700 GB/s"}) CHECK_FALSE(names(of(other), Cause::expected_value_wrong));
  CHECK(names(of("478 GB/s, with NCCL_ALGO=Ring 360 GB/s"), Cause::expected_value_wrong));
  CHECK_FALSE(names(of("300 GB/s, with NCCL_MIN_NCHANNELS=32 478 GB/s"), Cause::expected_value_wrong));
}

TEST_CASE("across leaves, and without one node") {
  CHECK(names(diagnosed("# all_reduce busbw: same leaf 390 GB/s, across spine 210 GB/s\n"), Cause::oversubscription));
  CHECK(diagnosed("# all_reduce busbw: same leaf 390 GB/s, across spine 380 GB/s\n").fine());
  CHECK_FALSE(names(diagnosed("# all_reduce busbw: same leaf 390 GB/s, same rack 210 GB/s\n"), Cause::oversubscription));
  CHECK(names(diagnosed("# all_reduce 8 nodes 180 GB/s, without gpu17 340 GB/s\n"), Cause::stragglers));
}
