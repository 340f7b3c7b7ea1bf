// nvidia-smi topo -m and rocm-smi --showtopo: which damage is forgiven, and which is not.
#include "unit/topology/topologies.hpp"

#include <catch.hpp>
#include <sstream>

using namespace fabricost::observe;
using namespace fabricost::test;

namespace {

std::string hopper() {
  return gpu_table(8, [](int, int) { return "NV18"; });
}

}  // namespace

TEST_CASE("blanks, pipes, prefixes and colours of a table mean nothing", "[topology]") {
  const std::string table = hopper();
  std::string spaces, piped, prefixed, coloured;
  for (const char c : table) spaces += c == '\t' ? std::string("    ") : std::string(1, c);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::string cells = "|";
    for (const char c : line) cells += c == '\t' ? std::string(" | ") : std::string(1, c);
    piped += cells + " |\n" + (piped.empty() ? "|---|---|---|\n" : "");
    prefixed += "[1,0]<stdout>:# " + line + "\r\n";
    coloured += "\x1b[4m" + line + "\x1b[0m\n";
  }
  for (const std::string& text : {table, spaces, piped, prefixed, coloured}) {
    const DescribedTopology t = topology_in(text);
    CHECK(t.gpus.size() == 8);
    CHECK(t.links_per_gpu() == 18);
    CHECK(t.switched);
    CHECK(t.sockets == 2);
    CHECK(t.warnings.empty());
  }
}

TEST_CASE("a row that a terminal broke at a blank goes on in the next line", "[topology]") {
  std::istringstream words(hopper());
  std::string text;
  for (std::string line; std::getline(words, line);) {
    const std::size_t at = line.find('\t', line.size() / 2);
    text += line.substr(0, at) + "\n" + line.substr(at) + "\n";
  }
  const DescribedTopology t = topology_in(text);
  CHECK(t.gpus.size() == 8);
  CHECK(t.links_per_gpu() == 18);
}

TEST_CASE("three GPUs that cannot be placed are named", "[topology]") {
  // the example of one of our seeds: PIX, PHB and SYS among three GPUs
  const Issue fault = topology_fault("GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX PHB SYS\nGPU1 PIX X SYS PHB\n");
  CHECK(fault.line == 3);
  CHECK(fault.column == 12);
  for (const char* part : {"GPU0", "GPU1", "GPU2", "PIX", "PHB", "SYS", "cannot be"}) CHECK(contains(fault.message, part));
  CHECK(!contains(fault.message, "GPU3"));
  CHECK(!fault.remedy.empty());
}

TEST_CASE("any tree of switches, bridges and sockets is read", "[topology]") {
  // two sockets x two host bridges x two switches x two GPUs; where two meet follows from their numbers' highest differing bit
  const auto meet = [](int i, int j) { return (i ^ j) >= 8 ? "SYS" : (i ^ j) >= 4 ? "NODE" : (i ^ j) >= 2 ? "PHB" : "PIX"; };
  const DescribedTopology t = topology_in(gpu_table(16, meet));
  CHECK(t.gpus.size() == 16);
  CHECK(t.sockets == 2);
  CHECK(t.links_per_gpu() == 0);
  // and with any one pair a level off it is none
  const std::string text = gpu_table(16, [&](int i, int j) { return i == 3 && j == 12 ? "PHB" : meet(i, j); });
  CHECK(contains(topology_fault(text).message, "cannot be"));
}

TEST_CASE("NVLinks are those of one GPU: added up on direct links, not behind switches", "[topology]") {
  CHECK(topology_in(gpu_table(4, [](int, int) { return "NV4"; })).links_per_gpu() == 12);  // Polaris: 3 peers x 4
  CHECK(topology_in(gpu_table(4, [](int, int) { return "NV4"; })).switched == false);
  CHECK(topology_in(gpu_table(16, [](int, int) { return "NV6"; })).links_per_gpu() == 6);  // DGX-2
  CHECK(topology_in(gpu_table(2, [](int, int) { return "NV4"; })).links_per_gpu() == 4);
  CHECK(topology_in(gpu_table(8, [](int i, int j) { return i / 2 == j / 2 ? "NV4" : "SYS"; })).links_per_gpu() == 4);  // bridges
}

TEST_CASE("cards joined in pairs are taken for cards with bridges, and the machine of a pair is named", "[topology]") {
  const auto pairs = [](int i, int j) { return i / 2 == j / 2 ? "NV12" : "SYS"; };
  const GuessedSystem eight = system_from(topology_in(gpu_table(8, pairs)));
  CHECK(eight.gpu == "a100-pcie-80");
  std::string said;
  for (const TopologyGuess& one : eight.guesses) said += one.what + ": " + one.taken + ": " + one.reason + "\n";
  CHECK(contains(said, "GPU to GPU: PCIe: direct links join only some GPUs"));
  CHECK(contains(said, "a100-pcie-bridge"));
  CHECK(contains(eight.yaml, "kind: host"));
  CHECK_FALSE(contains(eight.yaml, ". ."));
  CHECK(system_from(topology_in(gpu_table(2, pairs))).gpu == "a100-pcie-80");
  CHECK(system_from(topology_in(gpu_table(8, [](int, int) { return "NV12"; }))).gpu == "a100-sxm-80");
}

TEST_CASE("a GPU with a link down behind switches is read and named", "[topology]") {
  const DescribedTopology t = topology_in(gpu_table(8, [](int i, int j) { return i == 3 || j == 3 ? "NV17" : "NV18"; }));
  CHECK(t.links_per_gpu() == 18);
  CHECK(t.links_of[3] == 17);
  REQUIRE(t.warnings.size() == 1);
  CHECK(contains(t.warnings[0], "GPU3 has 17"));
  CHECK(contains(t.warnings[0], ":5:"));
}

TEST_CASE("names, partitions and legends in the same file are used", "[topology]") {
  const DescribedTopology t = topology_in(
      "GPU 0: NVIDIA H200 (UUID: GPU-1)\n  MIG 1g.18gb Device 0: (UUID: MIG-1)\nGPU 1: NVIDIA H200 (UUID: GPU-2)\n\n"
      "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tNV18\tPIX\t0-55\t0\tN/A\nGPU1\tNV18\t X "
      "\tNODE\t0-55\t0\tN/A\n"
      "NIC0\tPIX\tNODE\t X \n\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  "
      "NIC0: mlx5_7\n");
  CHECK(t.gpus[1].model == "NVIDIA H200");
  CHECK(t.partitioned);
  CHECK(t.nics[0].device == "mlx5_7");
  CHECK(t.sockets == 1);
  CHECK(system_from(t).gpu == "h200-sxm");
}

TEST_CASE("NUMA nodes that are parts of a processor are no sockets", "[topology]") {
  const auto table = [](const std::vector<std::pair<std::string, int>>& places, const char* cell) {
    std::string out = "\t";
    for (std::size_t i = 0; i < places.size(); ++i) out += fmt::format("GPU{}\t", i);
    out += "CPU Affinity\tNUMA Affinity\n";
    for (std::size_t i = 0; i < places.size(); ++i) {
      out += fmt::format("GPU{}", i);
      for (std::size_t j = 0; j < places.size(); ++j) out += fmt::format("\t{}", i == j ? " X " : cell);
      out += fmt::format("\t{}\t{}\n", places[i].first, places[i].second);
    }
    return out;
  };
  // DGX A100: two EPYC 7742, 4 nodes each
  const DescribedTopology dgx = topology_in(table({{"48-63,176-191", 3},
                                                   {"48-63,176-191", 3},
                                                   {"16-31,144-159", 1},
                                                   {"16-31,144-159", 1},
                                                   {"112-127,240-255", 7},
                                                   {"112-127,240-255", 7},
                                                   {"80-95,208-223", 5},
                                                   {"80-95,208-223", 5}},
                                                  "NV12"));
  CHECK(dgx.sockets == 2);
  CHECK(dgx.numa_nodes == 8);
  // Polaris: one EPYC 7543P as 4 nodes
  CHECK(topology_in(table({{"24-31,56-63", 3}, {"16-23,48-55", 2}, {"8-15,40-47", 1}, {"0-7,32-39", 0}}, "NV4")).sockets == 1);
}

TEST_CASE("rocm-smi's tables are held to each other", "[topology]") {
  const std::string head = "======= ROCm System Management Interface =======\n";
  const auto matrix = [](const std::string& title, const std::string& cell) {
    return "====== " + title + " between two GPUs ======\n  GPU0 GPU1\nGPU0 0 " + cell + "\nGPU1 " + cell + " 0\n\n";
  };
  const std::string good = head + matrix("Weight", "15") + matrix("Hops", "1") + matrix("Link Type", "XGMI") +
                           "===== Numa Nodes =====\nGPU[0]\t: (Topology) Numa Node: 0\nGPU[1]\t: (Topology) Numa Node: 1\n";
  const DescribedTopology t = topology_in(good);
  CHECK(t.gpus.size() == 2);
  CHECK(t.links_per_gpu() == 1);
  CHECK(t.sockets == 2);
  CHECK(t.vendor == "amd");
  CHECK(contains(topology_fault(replaced(good, "GPU1 XGMI 0", "GPU1 PCIE 0")).message, "GPU1-GPU0"));
  CHECK(contains(topology_fault(replaced(good, "GPU1 XGMI 0", "GPU1 XGM 0")).message, "\"XGM\" is no link type"));
  CHECK(contains(topology_fault(replaced(good, "GPU1 XGMI 0", "GPU1 XGMI")).message, "1 of 2 cells"));
  CHECK(contains(topology_fault(replaced(good, "GPU1 XGMI 0\n", "")).message, "ends after 1 of 2 rows"));
  CHECK(contains(topology_fault(replaced(good, "GPU1 1 0", "GPU1 one 0")).message, "number of hops"));
}
