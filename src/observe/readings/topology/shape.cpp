/// \file shape.cpp
/// Derives shapes from counts.

#include "readings/topology/shape.hpp"

#include "text/ascii.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe {

std::vector<std::vector<std::size_t>> islands_of(const DescribedTopology& t) {
  std::vector<std::vector<std::size_t>> out;
  std::vector<bool> seen(t.gpus.size(), false);
  for (std::size_t start = 0; start < t.gpus.size(); ++start) {
    if (seen[start]) continue;
    std::vector<std::size_t> island{start};
    seen[start] = true;
    for (std::size_t k = 0; k < island.size(); ++k)
      for (std::size_t j = 0; j < t.gpus.size(); ++j)
        if (!seen[j] && t.links[island[k]][j] > 0) {
          seen[j] = true;
          island.push_back(j);
        }
    std::sort(island.begin(), island.end());
    out.push_back(std::move(island));
  }
  return out;
}

LinkShape link_shape(const DescribedTopology& t) {
  LinkShape out;
  const std::size_t n = t.gpus.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (t.links[i][j] > 0) out.edges.push_back({static_cast<int>(i), static_cast<int>(j), t.links[i][j]});
  if (n < 2 || (out.edges.empty() && !t.switched)) return out;
  if (islands_of(t).size() > 1) {
    std::string joined;
    for (const Edge& e : out.edges)
      if (out.edges.size() <= 8) joined += fmt::format("{}GPU{}-GPU{} by {}", joined.empty() ? "" : ", ", e.from, e.to, e.links);
    out.remark = fmt::format("direct links join only some GPUs ({}); whatever takes all goes over PCIe",
                             joined.empty() ? fmt::format("{} pairs", out.edges.size()) : joined);
    return out;
  }
  std::vector<int> sums(n, 0);
  for (const Edge& e : out.edges) {
    sums[static_cast<std::size_t>(e.from)] += e.links;
    sums[static_cast<std::size_t>(e.to)] += e.links;
  }
  if (t.switched) {
    out.kind = TierKind::switched;
    out.links = *std::min_element(t.links_of.begin(), t.links_of.end());
    out.edges.clear();
    return out;
  }
  const bool uniform = out.edges.size() == n * (n - 1) / 2 &&
                       std::all_of(out.edges.begin(), out.edges.end(), [&](const Edge& e) { return e.links == out.edges.front().links; });
  out.kind = uniform ? TierKind::full_mesh : TierKind::mesh_graph;
  out.links = *std::min_element(sums.begin(), sums.end());
  return out;
}

std::vector<std::optional<NicPath>> nearest_nics(const DescribedTopology& t) {
  std::vector<std::optional<NicPath>> out(t.gpus.size());
  for (std::size_t g = 0; g < t.gpus.size(); ++g)
    for (std::size_t n = 0; n < t.nics.size(); ++n)
      if (const auto path = t.nic_path(g, n); path && (!out[g] || *path < *out[g])) out[g] = path;
  return out;
}

std::optional<NicPath> usual_nearest(const DescribedTopology& t) {
  std::vector<NicPath> known;
  for (const auto& path : nearest_nics(t))
    if (path) known.push_back(*path);
  return commonest(known);
}

std::vector<std::size_t> fabric_nics(const DescribedTopology& t) {
  std::vector<std::size_t> beside, all;
  for (std::size_t n = 0; n < t.nics.size(); ++n) {
    all.push_back(n);
    for (std::size_t g = 0; g < t.gpus.size(); ++g)
      if (const auto path = t.nic_path(g, n); !path || *path <= NicPath::pxb) {  // may be near a GPU whose row is missing
        beside.push_back(n);
        break;
      }
  }
  const auto usual = usual_nearest(t);
  return usual && *usual <= NicPath::pxb && !beside.empty() ? beside : all;
}

int gpus_per_switch(const DescribedTopology& t) {
  const std::size_t n = t.gpus.size();
  const auto near = [&](std::size_t a, std::size_t b) { return t.paths[a][b] && *t.paths[a][b] <= NicPath::pxb; };
  int max = 1;
  for (std::size_t a = 0; a < t.paths.size(); ++a) {
    int together = a < n ? 1 : 0;
    for (std::size_t b = 0; b < n; ++b) together += a != b && near(a, b) ? 1 : 0;
    max = std::max(max, together);
  }
  return max;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

std::string path_word(NicPath path) {
  std::string out{name(path)};
  for (char& c : out) c = upper(c);
  return out;
}

}  // namespace fabricost::observe
