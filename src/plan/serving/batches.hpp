#pragma once
/// The batch sizes that a search for deployments tries, and how it finds the best one without pricing all.
///
///   batches   all whole numbers up to 128, then 64 per doubling. They are the same for every question, so a question with
///             more memory, time or host memory chooses from a superset.
///   bound     a larger batch does not make a request faster, so  rate(b') <= rate(b) b' / b  for b' > b

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace fabricost::plan::detail {

inline constexpr int batches_exact = 128, batches_a_doubling = 64;

/// The i-th batch size, from 0.
[[nodiscard]] constexpr double batch_at(int i) {
  if (i < batches_exact) return i + 1;
  const int doubling = (i - batches_exact) / batches_a_doubling, place = (i - batches_exact) % batches_a_doubling + 1;
  const double first = static_cast<double>(batches_exact) * static_cast<double>(1LL << doubling);
  return first + first / batches_a_doubling * place;
}

/// The number of batch sizes up to `max` (at most 2^40).
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

/// The batch sizes of one deployment: all that fit, or a given one.
struct Batches {
  int count = 0;
  std::optional<double> given{};
  [[nodiscard]] double operator[](int i) const { return given ? *given : batch_at(i); }
  [[nodiscard]] static Batches up_to(double max) { return {batches_up_to(max), {}}; }
  [[nodiscard]] static Batches only(double batch) { return {1, batch}; }
};

/// Prices the relevant batch sizes of one deployment: first the doublings, then sizes between two priced ones
/// while `worth(left, first, last)` is true: of the smaller of the two as priced, its size, and the largest size between them.
/// \param price of a batch size
template <class Price, class Worth>
void visit_batches(const Batches& batches, Price&& price, Worth&& worth) {
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
    if (cell.right - cell.left < 2 || !worth(cell.first, batches[cell.left], batches[cell.right - 1])) continue;
    const int middle = (cell.left + cell.right) / 2;
    cells.push_back({cell.left, middle, cell.first});
    cells.push_back({middle, cell.right, price(batches[middle])});
  }
}

}  // namespace fabricost::plan::detail
