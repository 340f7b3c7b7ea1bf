#pragma once
/// Converts lists of group sizes to Levels, and lists the splits used by schedule tests.

#include <fabricost/algorithms/schedule.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace support {

inline fabricost::core::Levels levels_of_sizes(const std::vector<int>& sizes) {
  fabricost::core::Levels levels;
  levels.count = static_cast<int>(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) levels.sizes[i] = sizes[i];
  return levels;
}

/// 1 to 16, 32 and 64 ranks.
inline std::vector<int> flat_counts() {
  std::vector<int> out;
  for (int n = 1; n <= 16; ++n) out.push_back(n);
  out.push_back(32);
  out.push_back(64);
  return out;
}
/// {ranks of a group, groups}, also odd ones and groups of one.
inline std::vector<std::vector<int>> splits() {
  return {{1, 2}, {1, 3}, {1, 8}, {2, 2}, {2, 3}, {3, 2}, {3, 3}, {4, 2}, {4, 3},
          {4, 4}, {5, 3}, {6, 4}, {8, 2}, {8, 3}, {8, 4}, {8, 8}, {16, 4}};
}
inline std::vector<std::vector<int>> powers_of_two_splits() {
  return {{1, 2}, {1, 8}, {2, 2}, {2, 8}, {4, 2}, {4, 4}, {8, 2}, {8, 8}, {16, 4}, {32, 2}};
}

inline std::string text(const std::vector<int>& sizes) {
  std::string out = "{";
  for (std::size_t i = 0; i < sizes.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return out + "}";
}
inline bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }
inline bool close(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fmax(1, std::fmax(std::fabs(a), std::fabs(b))); }

}  // namespace support
