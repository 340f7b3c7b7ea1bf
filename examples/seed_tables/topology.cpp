/// \file topology.cpp
/// The `nvidia-smi topo -m` matrix of text 001 for a machine without NVLink, and why no such machine exists.
///
/// Each symbol names the nearest common point of two GPUs in the tree of PCIe switches, host bridges and sockets. Distances in a
/// tree are ultrametric: of any three GPUs the two largest distances are equal. Reading real matrices is `fabricost topo`.

#include "topology.hpp"
#include "page.hpp"

#include "specs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace seed_tables {

std::string_view name(Meeting meeting) {
  constexpr std::array<std::string_view, 7> names{"X", "PIX", "PXB", "PHB", "NODE", "SYS", "?"};
  return names[static_cast<std::size_t>(meeting)];
}

std::optional<Contradiction> contradiction(const Matrix& matrix) {
  const int n = static_cast<int>(matrix.size());
  const auto at = [&](int a, int b) {
    const Meeting seen = matrix[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
    return seen != Meeting::unknown ? seen : matrix[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)];
  };
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      for (int c = b + 1; c < n; ++c) {
        std::array<Meeting, 3> sides{at(a, b), at(a, c), at(b, c)};
        if (std::find(sides.begin(), sides.end(), Meeting::unknown) != sides.end()) continue;
        std::sort(sides.begin(), sides.end());
        if (sides[1] != sides[2]) return Contradiction{a, b, c, at(a, b), at(a, c), at(b, c)};
      }
  return std::nullopt;
}

Matrix matrix_of_the_text() {
  using enum Meeting;
  return {{same, pix, phb, sys}, {pix, same, sys, phb}, {unknown, unknown, same, unknown}, {unknown, unknown, unknown, same}};
}

std::string topology_example() {
  const Matrix matrix = matrix_of_the_text();
  std::string out =
      "### A `topo -m` matrix that cannot exist\n\nText 001 shows this for four GPUs without NVLink (two rows of four):\n\n|  |";
  for (std::size_t i = 0; i < matrix.size(); ++i) out += fmt::format(" GPU{} |", i);
  out += "\n|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < 2; ++i) {
    out += fmt::format("| GPU{} |", i);
    for (const Meeting m : matrix[i]) out += fmt::format(" {} |", name(m));
    out += "\n";
  }
  if (const auto found = contradiction(matrix))
    out += fmt::format(
        "\n**corrected**: GPU{} and GPU{} meet at {}, the same PCIe switch, so everything else is equally far from both. Yet GPU{} is {} "
        "from GPU{} and {} from GPU{}. Among any three GPUs the two largest distances must be "
        "equal; here they are {} and {}. The text also leaves out PXB (several PCIe switches, no host bridge) and NODE (several host "
        "bridges of one socket); its PHB means a common host bridge. `fabricost topo` will read and check "
        "such matrices.\n",
        found->a, found->b, name(found->ab), found->c, name(found->ac), found->a, name(found->bc), found->b, name(found->ac),
        name(found->bc));
  const int links = tier(machine("dgx-h100"), fabricost::core::TierRole::scale_up).links;
  out += fmt::format(
      "\nThe matrix of a DGX H100 in the same text, NV{} everywhere, is **reproduced**: each GPU has {} links in all, to the switches. It "
      "does not have {} to each of 7 peers.\n",
      links, links, links);
  return out;
}

}  // namespace seed_tables
