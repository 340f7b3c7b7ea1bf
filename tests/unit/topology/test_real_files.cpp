// Every topology file of the collection: the entry of the index for it, and a system that loads and predicts.
#include "specs/parts/gpu_index.hpp"
#include "unit/specs/files.hpp"
#include "unit/topology/topologies.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"

#include <catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

using namespace fabricost::observe;
using namespace fabricost::core::units;
using namespace fabricost::test;

namespace {

struct Stated {
  int gpus, links, nics, sockets;
};

// from the index of the collection and, where it is silent, counted by hand in the file
const std::map<std::string, Stated>& stated() {
  static const std::map<std::string, Stated> all{
      {"001_2gpu_nv2_bridge.txt", {2, 2, 0, 1}},
      {"002_2gpu_phb.txt", {2, 0, 0, 1}},
      {"004_v100_sxm2_alt_mesh_2nic.txt", {8, 6, 2, 2}},
      {"005_tf_gdr_4gpu_soc_mlx4.txt", {4, 0, 1, 2}},
      {"007_aws_p3_16xl_v100.txt", {8, 6, 0, 2}},
      {"008_aws_p4d_a100.txt", {8, 12, 0, 2}},
      {"010_a800_nv8_4nic.txt", {8, 8, 4, 2}},
      {"011_a800_nv8_4nic_clipped.txt", {8, 8, 4, 2}},
      {"013_puget_wrx90_2gpu_2nic.txt", {2, 0, 2, 1}},
      {"014_dgx1v_mlx5.txt", {8, 6, 4, 2}},
      {"016_a100_nv12.txt", {8, 12, 0, 2}},
      {"017_h100_nv18.txt", {8, 18, 0, 2}},
      {"019_6gpu_pix_phb_soc.txt", {6, 0, 0, 2}},
      {"020_rtx6kpro_esc8000a_broadcom.txt", {8, 0, 0, 2}},
      {"022_rtx6kpro_8gpu_phb_sys.txt", {8, 0, 0, 2}},
      {"023_rtx6kpro_8gpu_2switch.txt", {8, 0, 0, 1}},
      {"025_rtx6kpro_wrx90_microchip.txt", {8, 0, 0, 1}},
      {"026_rtx6kpro_esc8000a_log.txt", {8, 0, 0, 2}},
      {"028_epyc9534_8gpu_nv18_8nic_permuted.txt", {8, 18, 8, 2}},
      {"029_p9_4x_v100_nv3_4mlx.txt", {4, 3, 4, 2}},
      {"031_2x_v100_nv1_1mlx_phb.txt", {2, 1, 1, 1}},
      {"032_8gpu_pcie_node_phb_sys.txt", {8, 0, 0, 2}},
      {"034_dgx2_v100_nv6_10mlx_PARTIAL.txt", {16, 6, 10, 2}},
      {"035_rocm_mi300a_4xgmi.txt", {4, 3, 0, 4}},
      {"037_rocm_4gpu_pcie_PARTIAL.txt", {4, 0, 0, 4}},
      {"xml/aws_g5_48xl_topo.xml", {8, 0, 1, 2}},
      {"xml/aws_p4d_topo.xml", {8, 0, 4, 2}},
      {"xml/azure_ncv4_topo.xml", {4, 12, 1, 4}},
      {"xml/azure_ndv4_topo.xml", {8, 0, 8, 4}},
      {"xml/azure_ndv5_topo.xml", {8, 0, 8, 2}},
      {"xml/oci_h100_topo.xml", {8, 18, 16, 2}},
      {"xml/rccl_16p1h.xml", {16, 7, 8, 4}},
      {"xml/rccl_8p6l_4nic.xml", {8, 6, 4, 2}},
      {"xml/rccl_8p_90a.xml", {8, 3, 1, 1}},
  };
  return all;
}

}  // namespace

TEST_CASE("real topology files give the counts stated for them", "[topology][measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  for (const auto& [file, want] : stated()) {
    INFO(file);
    const DescribedTopology t = read_topology(folder / "multinode" / "topo" / file);
    CHECK(static_cast<int>(t.gpus.size()) == want.gpus);
    CHECK(t.links_per_gpu() == want.links);
    CHECK(static_cast<int>(t.nics.size()) == want.nics);
    CHECK(t.sockets == want.sockets);
    const bool damaged = contains(file, "PARTIAL") || contains(file, "clipped");
    if (damaged) {
      REQUIRE(!t.warnings.empty());
      CHECK(contains(t.warnings.front(), file.substr(file.rfind('/') + 1) + ":"));  // with a line
    }
    if (!damaged && file.ends_with(".txt")) CHECK(t.warnings.empty());
  }
}

TEST_CASE("a system made of a real topology file loads and predicts", "[topology][measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const Folder made;
  for (const auto& [file, want] : stated()) {
    INFO(file);
    const DescribedTopology t = read_topology(folder / "multinode" / "topo" / file);
    const GuessedSystem guessed = system_from(t);
    const System system = load_system(made.write(guessed.name + ".yaml", guessed.yaml));
    CHECK(system.name == guessed.name);
    CHECK(system.gpus_per_node == want.gpus);
    CHECK(system.provenance.confidence == Confidence::assumed);
    for (const Tier& tier : system.tiers)  // a rate that was guessed does not pass for a datasheet's
      if (tier.role != TierRole::memory && tier.role != TierRole::c2c) CHECK(tier.bandwidth.provenance.confidence == Confidence::assumed);
    for (const Collective c : {Collective::all_reduce, Collective::all_to_all}) {
      const Prediction p = predict(system, Operation{.collective = c, .bytes = MiB(64)});
      CHECK(std::isfinite(p.seconds));
      CHECK(p.seconds > 0);
      CHECK(p.ranks == want.gpus);
    }
    if (want.nics > 0) CHECK(predict(system, Operation{.collective = Collective::all_reduce, .bytes = MiB(64), .nodes = 2}).seconds > 0);
  }
}

TEST_CASE("the NIC beside each GPU is the one the table says", "[topology][measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const DescribedTopology t = read_topology(folder / "multinode" / "topo" / "028_epyc9534_8gpu_nv18_8nic_permuted.txt");
  const std::vector<std::size_t> nic{4, 1, 0, 3, 6, 7, 5, 2};  // the index of the collection
  for (std::size_t g = 0; g < 8; ++g)
    for (std::size_t n = 0; n < 8; ++n) CHECK((t.nic_path(g, n) == NicPath::pix) == (n == nic[g]));
  CHECK(t.nics[4].device == "mlx5_4");
}

TEST_CASE("AMD's model of 16 dies is the mesh of the shipped system", "[topology][measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const DescribedTopology t = read_topology(folder / "multinode" / "topo" / "xml" / "rccl_16p1h.xml");
  const System stock = load_system("mi250x-16gcd");
  int links = 0;
  for (const Edge& e : stock.tier(TierRole::scale_up)->edges) {
    CHECK(t.links[static_cast<std::size_t>(e.from)][static_cast<std::size_t>(e.to)] == e.links);
    links += e.links;
  }
  int read = 0;
  for (const auto& row : t.links)
    for (const int one : row) read += one;
  CHECK(read == 2 * links);
}

TEST_CASE("a graph file is refused and said to be one", "[topology][measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  CHECK_THROWS_WITH(read_topology(folder / "multinode" / "topo" / "xml" / "azure_ncv4_graph.xml"), Catch::Contains("graph file"));
}

// Differences between a machine and a stock one.

namespace {

std::vector<std::string> against(const std::string& text, const char* stock) {
  const DescribedTopology t = topology_in(text);
  return differences(t, system_from(t), load_system(stock));
}
/// nvidia-smi topo -m of a stock mesh under another numbering; one pair may be left out.
std::string mesh(const System& stock, const std::array<int, 8>& order, int cut_a = -1, int cut_b = -1) {
  return gpu_table(8, [&](int i, int j) -> std::string {
    for (const Edge& e : stock.tier(TierRole::scale_up)->edges) {
      const int a = order[static_cast<std::size_t>(i)], b = order[static_cast<std::size_t>(j)];
      if ((e.from == a && e.to == b) || (e.from == b && e.to == a)) return i == cut_a && j == cut_b ? "SYS" : fmt::format("NV{}", e.links);
    }
    return "SYS";
  });
}
bool any(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return contains(line, part); });
}
/// 8 GPUs behind switches and NICs. \param path of GPU g and NIC n
template <class PathOf>
std::string with_nics(int nics, PathOf&& path) {
  std::string out = "\t";
  for (int g = 0; g < 8; ++g) out += fmt::format("GPU{}\t", g);
  for (int n = 0; n < nics; ++n) out += fmt::format("NIC{}\t", n);
  out += "CPU Affinity\n";
  for (int g = 0; g < 8; ++g) {
    out += fmt::format("GPU{}", g);
    for (int k = 0; k < 8; ++k) out += k == g ? "\t X " : "\tNV18";
    for (int n = 0; n < nics; ++n) out += fmt::format("\t{}", path(g, n));
    out += fmt::format("\t{}\n", g < 4 ? "0-55" : "56-111");
  }
  for (int n = 0; n < nics; ++n) {
    out += fmt::format("NIC{}", n);
    for (int g = 0; g < 8; ++g) out += fmt::format("\t{}", path(g, n));
    for (int k = 0; k < nics; ++k) out += k == n ? "\t X " : n / 4 == k / 4 ? "\tNODE" : "\tSYS";
    out += "\n";
  }
  return out;
}
const char* stock_path(int g, int n) { return g == n ? "PIX" : g / 4 == n / 4 ? "NODE" : "SYS"; }

}  // namespace

TEST_CASE("a mesh with its GPUs numbered otherwise is the same mesh", "[topology]") {
  const System stock = load_system("dgx-1-v100");
  for (const std::array<int, 8>& order : {std::array<int, 8>{0, 1, 2, 3, 4, 5, 6, 7}, std::array<int, 8>{7, 2, 5, 0, 3, 6, 1, 4}}) {
    const auto lines = against(mesh(stock, order), "dgx-1-v100");
    CHECK(!any(lines, "direct link"));
    CHECK(!any(lines, "NVLinks"));
    CHECK(any(lines, "no NICs in the file"));
  }
}

TEST_CASE("a missing bridge is named with its two GPUs", "[topology]") {
  const System stock = load_system("dgx-1-v100");
  const auto lines = against(mesh(stock, {0, 1, 2, 3, 4, 5, 6, 7}, 2, 6), "dgx-1-v100");
  CHECK(any(lines, "GPU2-GPU6: no direct link where dgx-1-v100 has 1"));
  CHECK(any(lines, "GPU2 has 5 NVLinks"));
}

TEST_CASE("another number of NVLinks, short rails and far NICs are said", "[topology]") {
  CHECK(against(with_nics(8, stock_path), "dgx-h100").empty());
  CHECK(any(against(with_nics(6, stock_path), "dgx-h100"), "2 rails short"));
  const auto far = against(with_nics(8, [](int g, int n) { return g == 3 && n == 3 ? "NODE" : stock_path(g, n); }), "dgx-h100");
  CHECK(any(far, "GPU3: the nearest NIC is NODE away"));
  CHECK(any(against(gpu_table(8, [](int, int) { return "NV12"; }), "dgx-h100"), "12 direct links per GPU; dgx-h100 has 18"));
  CHECK(any(against(gpu_table(8, [](int i, int j) { return i == 3 || j == 3 ? "NV17" : "NV18"; }), "dgx-h100"), "GPU3 has 17 NVLinks"));
  CHECK(any(against(gpu_table(4, [](int, int) { return "NV18"; }), "dgx-h100"), "4 GPUs; dgx-h100 has 8"));
  CHECK(any(against(gpu_table(8, [](int, int) { return "PHB"; }), "dgx-h100"), "no direct links"));
}

TEST_CASE("fewer sockets are said", "[topology]") {
  std::string one = with_nics(8, [](int g, int n) { return g == n ? "PIX" : "NODE"; });
  for (std::size_t at = one.find("56-111"); at != std::string::npos; at = one.find("56-111")) one.replace(at, 6, "0-55");
  for (std::size_t at = one.find("SYS"); at != std::string::npos; at = one.find("SYS")) one.replace(at, 3, "NODE");
  CHECK(any(against(one, "dgx-h100"), "1 socket"));
}

// Which GPU has a name, a PCI id or an architecture, and which machine is usual for it: the identities of data/.

namespace {

/// The message with which the index over a data directory refuses it; empty: it accepts it.
std::string stated_of(const specs::Folder& data) {
  try {
    (void)GpuIdentities(data.path("."));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a driver's name means the GPU with the longest part of it", "[specs]") {
  const GpuIdentities known(data_directory());
  for (const auto& [name, gpu] : {std::pair{"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                  {"NVIDIA H100 PCIe", "h100-pcie"},
                                  {"NVIDIA H100 NVL", "h100-nvl"},
                                  {"NVIDIA GH200 480GB", "gh200"},
                                  {"NVIDIA H20", "h20"},
                                  {"NVIDIA A100-SXM4-40GB", "a100-sxm-40"},
                                  {"NVIDIA A100-SXM4-80GB", "a100-sxm-80"},
                                  {"NVIDIA A10G", "a10g"},
                                  {"NVIDIA GB300", "gb300"},
                                  {"NVIDIA B300 SXM6 AC", "b300-sxm"},
                                  {"Tesla V100-SXM2-32GB", "v100-sxm"},
                                  {"Tesla T4", "t4"},
                                  {"AMD Instinct MI300X", "mi300x"},
                                  {"AMD Instinct MI250X / MI250", "mi250x-gcd"},
                                  {"NVIDIA L40", ""},        // an L40S stands in
                                  {"NVIDIA RTX A6000", ""},  // an A40
                                  {"NVIDIA H200 NVL", "h200-nvl"},
                                  {"NVIDIA RTX 6000D", "rtx-pro-6000d"},
                                  {"Moore Threads S4000", ""}}) {
    INFO(name);
    CHECK(known.gpu_named(name) == gpu);
  }
  REQUIRE(known.named("NVIDIA L40") != nullptr);
  CHECK(known.named("NVIDIA L40")->gpu == "l40s");
  CHECK(known.named("NVIDIA L40")->stands_for == "an L40");
  CHECK(known.named("Moore Threads S4000") == nullptr);
}

TEST_CASE("every PCI id and every name leads to a GPU that loads, and one with an architecture", "[specs]") {
  const GpuIdentities known(data_directory());
  CHECK(known.with_pci_id("10de:2330")->gpu == "h100-sxm");
  CHECK(known.with_pci_id("1002:740f")->stands_for == "an MI210, which is one such die");
  CHECK(known.with_pci_id("10de:0000") == nullptr);
  for (const std::string& name : names_in("gpus")) {
    INFO(name);
    const Gpu gpu = load_gpu(name);
    const bool sold = parse_spec(data_directory() / "gpus" / (name + ".yaml")).find("confidence")->text != "announced";
    INFO("`identity:` says the `arch:` of each GPU of NVIDIA and AMD that is sold, and of no other vendor's");
    const bool has_one = gpu.vendor == "nvidia" || gpu.vendor == "amd";
    CHECK((has_one ? !sold || !gpu.arch.empty() : gpu.arch.empty()));
  }
  CHECK(is_blackwell_ultra(load_gpu("b300-sxm")));
  CHECK(is_blackwell_ultra(load_gpu("gb300")));
  CHECK_FALSE(is_blackwell_ultra(load_gpu("b200-sxm")));
}

TEST_CASE("a GPU of one's own is known by its file alone", "[specs]") {
  const specs::Folder folder;
  const auto gpu = [&](const std::string& name, const std::string& identity) {
    folder.write("gpus/" + name + ".yaml", "name: " + name + "\nvendor: nvidia\nidentity: " + identity + "\n");
  };
  gpu("x1", "{arch: sm_140, names: [X1], pci: [\"10de:4000\"], clues: [{arch: sm_140}], instances: [{name: x.big, gpus: 4, nics: 2}]}");
  {
    const GpuIdentities known(folder.path("."));
    CHECK(known.gpu_named("NVIDIA X1 192GB") == "x1");
    CHECK(known.with_pci_id("10de:4000")->gpu == "x1");
    CHECK(known.instance_in("for x.big machines")->nics == 2);
    CHECK(known.clues().size() == 1);
  }
  gpu("x2", "{names: [X1]}");
  CHECK(support::contains(stated_of(folder), "x1 and x2 both have the name \"X1\""));
  for (const auto& [identity, said] : {std::pair{"{pci: [H100]}", "is no PCI id"},
                                       {"{names: [X]}", "is part of too many names"},
                                       {"{arch: hopper}", "is no architecture"},
                                       {"{clues: [{gpus: 8}]}", "says nothing a machine shows"},
                                       {"{clues: [{links: [5, 3]}]}", "is no range"},
                                       {"{clues: 7}", "is not a list"},
                                       {"{instances: [{gpus: 8}]}", "is missing"},
                                       {"{marketing: X}", "unknown key"}}) {
    INFO(identity);
    gpu("x2", identity);
    CHECK(support::contains(stated_of(folder), said));
  }
}
