/// \file check.cpp
/// Consistency of a topology table: meeting points of paths form a tree; GPUs have a valid number of NVLinks.

#include "readings/topology/shape.hpp"
#include "readings/topology/topology_text.hpp"
#include "specs/parts/gpu_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::observe {

namespace {

/// Whether the table states the path between two devices; rows may be missing at its end.
[[nodiscard]] bool known(const DescribedTopology& t, std::size_t i, std::size_t j) {
  return t.links[i][j] > 0 || t.paths[i][j].has_value();
}

/// A pair whose count is not the smaller of its GPUs' largest counts; empty if there is none, in which case a
/// switch is possible.
[[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> against_switch(const DescribedTopology& t,
                                                                                const std::vector<std::size_t>& island) {
  const auto largest = [&](std::size_t i) { return *std::max_element(t.links[i].begin(), t.links[i].end()); };
  for (const std::size_t i : island)
    for (const std::size_t j : island)
      if (i < j && known(t, i, j) && t.links[i][j] != std::min(largest(i), largest(j))) return std::pair{i, j};
  return std::nullopt;
}

}  // namespace

void check_paths(DescribedTopology& t, const TopologyFile& file, const CellColumns& columns) {
  const std::size_t gpus = t.gpus.size();
  const auto device = [&](std::size_t i) -> const TopologyDevice& { return i < gpus ? t.gpus[i] : t.nics[i - gpus]; };
  bool warned = false;
  for (std::size_t a = 0; a < t.paths.size(); ++a)
    for (std::size_t b = a + 1; b < t.paths.size(); ++b)
      for (std::size_t c = b + 1; c < t.paths.size(); ++c) {
        if (!t.paths[a][b] || !t.paths[a][c] || !t.paths[b][c]) continue;
        std::array<NicPath, 3> sorted{*t.paths[a][b], *t.paths[a][c], *t.paths[b][c]};
        std::sort(sorted.begin(), sorted.end());
        if (sorted[1] == sorted[2]) continue;
        const std::string found =
            fmt::format("{0}, {1} and {2} cannot be: {0}-{1} is {3}, {0}-{2} is {4}, yet {1}-{2} is {5}", device(a).name, device(b).name,
                        device(c).name, path_word(*t.paths[a][b]), path_word(*t.paths[a][c]), path_word(*t.paths[b][c]));
        // one switch or several in between: depends on counted bridges, not only on where two paths meet
        const bool slight = sorted[2] == NicPath::pxb;
        const std::size_t row = device(b).line > 0 ? b : a;  // rows may be missing at the end
        const auto line = static_cast<std::size_t>(std::max(1, device(row).line) - 1);
        if (c < gpus && !slight)
          file.fault(line, columns.empty() ? 0 : columns[row][c], found,
                     "of the three meeting points among three GPUs the two farthest are the same; the table was edited or damaged");
        if (!warned) t.warnings.push_back(file.warning(line, found + "; read as it stands"));
        warned = true;
      }
}

void count_nvlinks(DescribedTopology& t, const TopologyFile& file) {
  const int max_links = GpuIdentities::shipped()->max_nvlinks();
  const auto line_of = [&](std::size_t i) { return static_cast<std::size_t>(std::max(0, t.gpus[i].line - 1)); };
  for (const std::vector<std::size_t>& island : islands_of(t)) {
    if (island.size() < 2) continue;
    const auto against = against_switch(t, island);
    int max = 0, largest_sum = 0;
    std::size_t at_sum = island.front();
    for (const std::size_t i : island) {
      int sum = 0;
      for (const std::size_t j : island) {
        sum += t.links[i][j];
        max = std::max(max, t.links[i][j]);
      }
      if (sum > largest_sum) {
        largest_sum = sum;
        at_sum = i;
      }
    }
    // two GPUs joined by more links than a bridge has (12), or too many links for one GPU: switches
    const bool too_many = largest_sum > max_links;
    if (too_many && against) {
      const auto [i, j] = *against;
      file.fault(line_of(at_sum), 0,
                 fmt::format("{} would have {} NVLinks to its peers, and no GPU has more than {}; behind switches {}-{} could not be NV{}",
                             t.gpus[at_sum].name, largest_sum, max_links, t.gpus[i].name, t.gpus[j].name, t.links[i][j]),
                 "behind switches a pair has the smaller count of its two GPUs; the table was edited or damaged");
    }
    const bool whole_board = island.size() == 2 && max == max_links;
    t.switched = t.switched || too_many || whole_board;
    for (const std::size_t i : island) {
      int sum = 0;
      for (const std::size_t j : island) sum += t.links[i][j];
      t.links_of[i] = too_many || whole_board ? *std::max_element(t.links[i].begin(), t.links[i].end()) : sum;
    }
    if (too_many || whole_board)
      for (const std::size_t i : island)
        for (const std::size_t j : island)
          if (i != j && !known(t, i, j)) t.links[i][j] = t.links[j][i] = std::min(t.links_of[i], t.links_of[j]);
  }
  const int usual = t.links_per_gpu();
  for (std::size_t i = 0; i < t.gpus.size(); ++i)
    if (t.links_of[i] != usual)
      t.warnings.push_back(
          file.warning(line_of(i), fmt::format("{} has {} NVLinks where most have {}: a link is down, a bridge missing, or these "
                                               "are not all GPUs of the board",
                                               t.gpus[i].name, t.links_of[i], usual)));
}

}  // namespace fabricost::observe
