// Differences between a machine and a stock one.
#include "unit/topology/topologies.hpp"

#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <array>

using namespace fabricost::observe;
using namespace fabricost::test;

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
