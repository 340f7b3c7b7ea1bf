#pragma once
/// \file batches.hpp
/// The batches a search for deployments tries, and how it finds the best of them without pricing all.
///
///   batches   every whole number to 128, then 64 of each doubling: the same for every question, so that whoever may use more memory, more
///             time or more of the host's memory chooses among more of them
///   bound     a request takes no less time in a larger batch, so that  rate(b') <= rate(b) b' / b  for b' > b

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace fabricost::detail {

inline constexpr int batches_exact = 128, batches_a_doubling = 64;

/// The i-th batch from 0.
[[nodiscard]] constexpr double batch_at(int i) {
  if (i < batches_exact) return i + 1;
  const int doubling = (i - batches_exact) / batches_a_doubling, place = (i - batches_exact) % batches_a_doubling + 1;
  const double first = static_cast<double>(batches_exact) * static_cast<double>(1LL << doubling);
  return first + first / batches_a_doubling * place;
}

/// How many of them are at most `most` (to 2^40).
[[nodiscard]] constexpr int batches_up_to(double max) {
  int low = 0, high = batches_exact + 33 * batches_a_doubling;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (batch_at(middle) <= max)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// What one deployment may run: the batches up to the most that fit, or one that was given.
struct Batches {
  int count = 0;
  std::optional<double> given{};
  [[nodiscard]] double operator[](int i) const { return given ? *given : batch_at(i); }
  [[nodiscard]] static Batches up_to(double max) { return {batches_up_to(max), {}}; }
  [[nodiscard]] static Batches only(double batch) { return {1, batch}; }
};

/// Prices those batches of one deployment that can matter: its doublings first, then what lies between two priced ones as long as
/// `worth(left, most)` says that a batch between them, which answers at most `most` tokens per second and GPU and no user faster than
/// `left` does, is of interest. \param price of a batch, something with tokens_per_s_per_gpu \param ceiling of that figure
template <class Price, class Worth>
void visit_batches(const Batches& batches, double ceiling, Price&& price, Worth&& worth) {
  if (batches.count < 1) return;
  using Priced = decltype(price(1.0));
  std::vector<std::pair<int, Priced>> at;
  for (int i = 0, next = 1; i < batches.count; i = next) {
    at.emplace_back(i, price(batches[i]));
    if (i + 1 == batches.count) break;
    next = std::min(batches_up_to(2 * batches[i]) - 1, batches.count - 1);
  }
  struct Cell {
    int left, right;
    Priced first;
  };
  std::vector<Cell> cells;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) cells.push_back({at[i].first, at[i + 1].first, at[i].second});
  while (!cells.empty()) {
    const Cell cell = std::move(cells.back());
    cells.pop_back();
    if (cell.right - cell.left < 2) continue;
    const double max = std::min(ceiling, cell.first.tokens_per_s_per_gpu * batches[cell.right - 1] / batches[cell.left]);
    if (!worth(cell.first, max)) continue;
    const int middle = (cell.left + cell.right) / 2;
    cells.push_back({cell.left, middle, cell.first});
    cells.push_back({middle, cell.right, price(batches[middle])});
  }
}

}  // namespace fabricost::detail
