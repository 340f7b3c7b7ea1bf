// Figures that were got wrong before (factors of 2 and 8, per link and per GPU), pinned one by one. All rates are one way.
#include "catch.hpp"

#include <fabricost/specs/load.hpp>

#include <filesystem>
#include <map>

using namespace fabricost::core;
using units::GB_per_s;
using units::TB_per_s;

namespace {

double rate(std::string_view system, std::string_view tier) {
  return in(load_system(system).tier(tier)->bandwidth.value, GB_per_s).value();
}
double link_rate(std::string_view name) { return in(load_link(name).bandwidth.value, GB_per_s).value(); }

}  // namespace

TEST_CASE("a GPU's rate into its scale-up tier is one way", "[specs][facts]") {
  CHECK(rate("dgx-1-p100", "nvlink") == Approx(80));
  CHECK(rate("dgx-1-v100", "nvlink") == Approx(150));
  CHECK(rate("dgx-2", "nvlink") == Approx(150));
  CHECK(rate("dgx-a100", "nvlink") == Approx(300));
  CHECK(rate("dgx-h100", "nvlink") == Approx(450));
  CHECK(rate("dgx-b200", "nvlink") == Approx(900));
  CHECK(rate("gb200-nvl72", "nvlink") == Approx(900));
  CHECK(rate("mi300x-8", "xgmi") == Approx(448));
}

TEST_CASE("host links and NICs are one way and per link", "[specs][facts]") {
  CHECK(rate("dgx-h100", "pcie") == Approx(63.015).epsilon(1e-4));
  CHECK(rate("dgx-h100", "nic") == Approx(50));
  CHECK(rate("dgx-b200", "nic") == Approx(50));
  CHECK(rate("dgx-1-v100", "nic") == Approx(12.5));
  CHECK(load_system("dgx-1-v100").tier("nic")->endpoints == 4);
  // the ratios that tables of both-ways against one-way rates get wrong: 9 and 18, never 18 and 36
  CHECK(rate("dgx-h100", "nvlink") / rate("dgx-h100", "nic") == Approx(9));
  CHECK(rate("dgx-b200", "nvlink") / rate("dgx-b200", "nic") == Approx(18));
}

TEST_CASE("links carry lanes x rate, one way", "[specs][facts]") {
  CHECK(link_rate("pcie-3") == Approx(15.754).epsilon(1e-4));
  CHECK(link_rate("pcie-4") == Approx(31.508).epsilon(1e-4));
  CHECK(link_rate("pcie-5") == Approx(63.015).epsilon(1e-4));
  CHECK(link_rate("pcie-6") == Approx(118).epsilon(1e-4));
  CHECK(link_rate("nvlink-1") == Approx(20));
  CHECK(link_rate("nvlink-2") == Approx(25));
  CHECK(link_rate("nvlink-3") == Approx(25));
  CHECK(link_rate("nvlink-4") == Approx(25));
  CHECK(link_rate("nvlink-5") == Approx(50));
  CHECK(link_rate("infiniband-edr") == Approx(12.5));
  CHECK(link_rate("infiniband-hdr") == Approx(25));
  CHECK(link_rate("infiniband-ndr") == Approx(50));
  CHECK(link_rate("infiniband-xdr") == Approx(100));
  CHECK(link_rate("ualink-200") == Approx(100));
}

TEST_CASE("lanes and signalling of the NVLink generations", "[specs][facts]") {
  const auto lanes = [](std::string_view name) {
    const Link link = load_link(name);
    return std::pair{link.lanes, link.lane_rate.value.value() * 1e-9};
  };
  CHECK(lanes("nvlink-3") == std::pair{4, 50.0});
  CHECK(lanes("nvlink-4") == std::pair{2, 100.0});
  CHECK(lanes("nvlink-5") == std::pair{2, 200.0});
}

TEST_CASE("packets leave 256 of 280 bytes on PCIe", "[specs][facts]") {
  for (const char* name : {"pcie-3", "pcie-4", "pcie-5"}) CHECK(load_link(name).efficiency() == Approx(256.0 / (256 + 24)));
  CHECK(load_system("dgx-h100").tier("pcie")->efficiency == Approx(256.0 / 280));
}

TEST_CASE("memories have one rate for reads and writes", "[specs][facts]") {
  CHECK(rate("dgx-h100", "hbm") == Approx(3350));
  CHECK(rate("gb200-nvl72", "hbm") == Approx(8000));
  CHECK(load_system("dgx-h100").tier("hbm")->bisection() == GB_per_s(3350));
}

TEST_CASE("bisection and aggregate of switched domains are kept apart", "[specs][facts]") {
  const System rack = load_system("gb200-nvl72");
  CHECK(rack.domain == 72);
  CHECK(rack.gpus_per_node == 4);
  CHECK(rack.nodes == 18);
  CHECK(in(rack.tier("nvlink")->bisection(), TB_per_s).value() == Approx(32.4));
  CHECK(in(rack.tier("nvlink")->aggregate(), TB_per_s).value() == Approx(64.8));
  const System dgx = load_system("dgx-h100");
  CHECK(in(dgx.tier("nvlink")->bisection(), TB_per_s).value() == Approx(1.8));
  CHECK(in(dgx.tier("nvlink")->aggregate(), TB_per_s).value() == Approx(3.6));
}

TEST_CASE("the cut through a torus cube crosses two faces", "[specs][facts]") {
  for (const char* name : {"tpu-v4-cube", "tpu-v5p-cube"}) {
    const System cube = load_system(name);
    const Tier& ici = *cube.tier("ici");
    CHECK(ici.dims == std::vector<int>{4, 4, 4});
    CHECK(ici.links == 6);
    CHECK(ici.bisection().value() == Approx(2 * 16 * ici.link_bandwidth.value()));
  }
  CHECK(in(load_system("tpu-v5p-cube").tier("ici")->bisection(), GB_per_s).value() == Approx(3200));
}

TEST_CASE("a DGX-1 with V100 has six links a GPU and its worst cut crosses six", "[specs][facts]") {
  const System dgx = load_system("dgx-1-v100");
  const Tier& nvlink = *dgx.tier("nvlink");
  std::map<int, int> links;
  for (const Edge& edge : nvlink.edges) {
    links[edge.from] += edge.links;
    links[edge.to] += edge.links;
  }
  CHECK(links.size() == 8);
  for (const auto& [gpu, count] : links) CHECK(count == 6);
  // every even cut, counted here on its own
  int min = 1000;
  for (unsigned side = 0; side < 256; ++side) {
    int members = 0, crossing = 0;
    for (unsigned gpu = 0; gpu < 8; ++gpu) members += (side >> gpu) & 1U;
    for (const Edge& e : nvlink.edges) crossing += ((side >> e.from) & 1U) != ((side >> e.to) & 1U) ? e.links : 0;
    if (members == 4) min = std::min(min, crossing);
  }
  CHECK(min == 6);
  CHECK(in(nvlink.bisection(), GB_per_s).value() == Approx(min * 25));
}

TEST_CASE("four A100 are joined without a switch, eight with six of them", "[specs][facts]") {
  const System four = load_system("hgx-a100-4");
  CHECK(four.tier("nvlink")->kind == TierKind::full_mesh);
  CHECK(four.tier("nvlink")->links / 3 == 4);
  const System eight = load_system("dgx-a100");
  CHECK(eight.tier("nvlink")->kind == TierKind::switched);
  CHECK(eight.tier("nvlink")->switches == 6);
  CHECK(eight.tier("nvlink")->links == 12);
}

TEST_CASE("switches of Blackwell have 72 ports and an NVL72 fills 18 of them", "[specs][facts]") {
  CHECK(load_switch("nvswitch-3").ports == 64);
  CHECK(load_switch("nvswitch-4").ports == 72);
  const Tier nvlink = *load_system("gb200-nvl72").tier("nvlink");
  CHECK(nvlink.endpoints * nvlink.links == 1296);
  CHECK(nvlink.switches * load_switch("nvswitch-4").ports == 1296);
  CHECK(nvlink.hops == 1);
}

TEST_CASE("only switches that can, reduce and multicast", "[specs][facts]") {
  CHECK(load_system("dgx-h100").tier("nvlink")->reduces_in_network);
  CHECK(load_system("dgx-h100").tier("nvlink")->multicasts);
  CHECK_FALSE(load_system("dgx-a100").tier("nvlink")->reduces_in_network);
}

TEST_CASE("a name of NVIDIA's racks means the rack that is sold under it", "[specs][facts]") {
  // until 2025 the number counted dies, since 2026 packages: NVL144 alone is the Kyber rack of 144 packages
  for (const char* name : {"vera-rubin-nvl72", "vr-nvl72", "vera-rubin-nvl144"}) CHECK(load_system(name).domain == 72);
  for (const char* name : {"nvl144", "kyber-nvl144", "rubin-ultra-nvl144", "kyber-nvl576", "nvl576"})
    CHECK(load_system(name).domain == 144);
}

TEST_CASE("a link's rate is what its lanes carry, to a part in a thousand", "[specs][facts]") {
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FABRICOST_SOURCE_DIR) / "data" / "links")) {
    const Link link = load_link(entry.path().stem().string());
    INFO(link.name);
    if (link.lane_rate.value.value() <= 0) continue;
    const double lanes = link.lanes * link.lane_rate.value.value() * link.encoding / 8;
    CHECK(link.bandwidth.value.value() == Approx(lanes).epsilon(1e-3));
    ++checked;
  }
  CHECK(checked > 40);
  CHECK(link_rate("xgmi-4") == Approx(76.8));
}

TEST_CASE("figures are those of the document they cite", "[specs][facts]") {
  CHECK(load_gpu("b300-sxm").fp4.value.value() * 8 == Approx(108e15));  // an HGX B300 of 8, dense
  CHECK(in(load_gpu("tpu-v7").hbm_bandwidth.value, GB_per_s).value() == Approx(7380));
  CHECK(load_gpu("rubin").units == 224);
}
