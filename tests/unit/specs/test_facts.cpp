// Figures that were got wrong before (factors of 2 and 8, per link and per GPU), pinned one by one. All rates are one way.
#include "catch.hpp"

#include <fabricost/specs/load.hpp>

using namespace fabricost::core;
using units::GB_per_s;
using units::TB_per_s;

namespace {

double link_rate(std::string_view name) { return in(load_link(name).bandwidth.value, GB_per_s).value(); }

}  // namespace

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

TEST_CASE("a name of NVIDIA's racks means the rack that is sold under it", "[specs][facts]") {
  // until 2025 the number counted dies, since 2026 packages: NVL144 alone is the Kyber rack of 144 packages
  for (const char* name : {"vera-rubin-nvl72", "vr-nvl72", "vera-rubin-nvl144"}) CHECK(load_system(name).domain == 72);
  for (const char* name : {"nvl144", "kyber-nvl144", "rubin-ultra-nvl144", "kyber-nvl576", "nvl576"})
    CHECK(load_system(name).domain == 144);
}

TEST_CASE("GPUs that share a link upward pass it once, whatever stands on the other side of the cut") {
  for (const auto& [gpus, shared, peers, links] : {std::tuple{8, 1, false, 4.0}, {8, 2, false, 2.0}, {8, 4, false, 1.0}, {4, 4, false, 1.0}, {4, 4, true, 2.0}}) {
    Tier tier = *load_system("l40s-pcie").tier("pcie");
    tier.endpoints = gpus, tier.shared_by = shared, tier.peer_to_peer = peers;
    CAPTURE(gpus, shared, peers);
    CHECK(tier.bisection().value() == Approx(links * tier.bandwidth.value.value()));
  }
}
