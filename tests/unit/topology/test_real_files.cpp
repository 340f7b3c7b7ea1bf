// Every topology file of the collection: the entry of the index for it, and a system that loads and predicts.
#include "unit/topology/topologies.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <cmath>
#include <map>
#include <random>

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

TEST_CASE("real tables prefixed by a launcher, or with their blanks retyped, give the same",
          "[topology][measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  for (const auto& [file, want] : stated()) {
    if (!file.ends_with(".txt")) continue;
    INFO(file);
    std::ifstream in(folder / "multinode" / "topo" / file, std::ios::binary);
    std::string prefixed, squeezed;
    for (std::string line; std::getline(in, line);) {
      prefixed += "2024-05-01T10:00:00 node-3 | " + line + "\n";
      for (const char c : line)
        if ((c != ' ' && c != '\t') || squeezed.empty() || squeezed.back() != ' ') squeezed += c == '\t' ? ' ' : c;
      squeezed += '\n';
    }
    for (const std::string& text : {prefixed, squeezed}) {
      const DescribedTopology t = topology_in(text);
      CHECK(static_cast<int>(t.gpus.size()) == want.gpus);
      CHECK(t.links_per_gpu() == want.links);
      CHECK(static_cast<int>(t.nics.size()) == want.nics);
      CHECK(t.sockets == want.sockets);
    }
  }
}
