#pragma once
/// The elements of a request with array fields: NumPy's broadcasting, and iteration in C order.

#include "core/operations.hpp"
#include "core/predictions.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fabricost::python {

/// The shape all fields broadcast to. \throws RequestError naming fields and shapes that do not
[[nodiscard]] std::vector<pybind11::ssize_t> broadcast_shape(const OperationRequest& op);

/// \param shape that of broadcast_shape
[[nodiscard]] Grid grid_of(const OperationRequest& op, const std::vector<pybind11::ssize_t>& shape);

/// "[3, 0]", or "" without axes.
[[nodiscard]] std::string place_text(const std::vector<pybind11::ssize_t>& shape, std::int64_t at);

/// RequestError: "ranks[1]: -8 is negative; ...".
[[noreturn]] void throw_bad_count(const char* field, std::int64_t value, const std::vector<pybind11::ssize_t>& shape, std::int64_t at);

template <class Number>
[[nodiscard]] Number number_at(const char* memory) {
  Number out;
  std::memcpy(&out, memory, sizeof out);
  return out;
}

/// Elements of a request that differ only in size.
struct Stretch {
  std::int64_t first = 0;               ///< index of the first in C order
  std::span<const std::uint32_t> at{};  ///< offset of each from `first`; empty: consecutive
  std::int64_t count = 0;
  const char* bytes = nullptr;  ///< the first size
  std::int64_t stride = 0;      ///< to the next, in bytes

  [[nodiscard]] std::int64_t place(std::int64_t i) const { return first + (at.empty() ? i : at[static_cast<std::size_t>(i)]); }
  [[nodiscard]] double size(std::int64_t i) const { return number_at<double>(bytes + i * stride); }
};

/// Groups elements with varying ranks and nodes by (ranks, nodes), 2^20 at a time, so that memory is bounded.
class Groups {
 public:
  using Run = std::function<void(const Stretch&, int ranks, int nodes)>;
  explicit Groups(Run run) : run_(std::move(run)) {}

  void add(std::int64_t place, double bytes, int ranks, int nodes) {
    if (added_ == 0) first_ = place;
    if (groups_.empty() || groups_[last_].ranks != ranks || groups_[last_].nodes != nodes) {
      const std::uint64_t shape = std::uint64_t{static_cast<std::uint32_t>(ranks)} << 32U | static_cast<std::uint32_t>(nodes);
      const auto [known, fresh] = places_.try_emplace(shape, groups_.size());
      if (fresh) groups_.push_back({ranks, nodes, {}, {}});
      last_ = known->second;
    }
    groups_[last_].sizes.push_back(bytes);
    groups_[last_].at.push_back(static_cast<std::uint32_t>(added_));
    if (++added_ == max) flush();
  }
  /// Runs the added elements group by group, in the order of first occurrence; the indices of elements must
  /// be consecutive.
  void flush();

 private:
  static constexpr std::size_t max = std::size_t{1} << 20U;
  struct Group {
    int ranks, nodes;
    std::vector<double> sizes;
    std::vector<std::uint32_t> at;  ///< offsets from `first_`
  };

  Run run_;
  std::int64_t first_ = 0;
  std::size_t added_ = 0, last_ = 0;
  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  ///< in groups_, by ranks and nodes
};

/// Calls run(stretch, operation) for stretches of elements that differ only in size. If ranks or nodes vary
/// between elements, equal ones are grouped, 2^20 at a time.
/// \throws RequestError for ranks or nodes that are negative or too many
template <class Run>
void for_each_stretch(const Grid& grid, const OperationRequest& op, const std::vector<pybind11::ssize_t>& shape, Run&& run) {
  std::int64_t all = 1;
  for (const Grid::Axis& axis : grid.axes) all *= axis.count;
  if (all == 0) return;
  const double one = op.scalar.bytes.value();
  const char* const sizes = grid.bytes != nullptr ? grid.bytes : reinterpret_cast<const char*>(&one);
  Operation now = op.scalar;
  const auto count_at = [&](const char* memory, const char* name, std::int64_t at) {
    const auto value = number_at<std::int64_t>(memory);
    if (value < 0 || static_cast<double>(value) > any_count.max) throw_bad_count(name, value, shape, at);
    return static_cast<int>(value);
  };
  const Grid::Axis last = grid.axes.empty() ? Grid::Axis{} : grid.axes.back();
  const std::size_t outer = grid.axes.empty() ? 0 : grid.axes.size() - 1;
  constexpr std::int64_t long_enough = 256;  // a stretch that pays for looking up its ranks and nodes by itself
  const bool shapes_vary = grid.ranks != nullptr || grid.nodes != nullptr;
  const bool by_place = !shapes_vary || (last.ranks == 0 && last.nodes == 0 && (last.count >= long_enough || outer == 0));
  Groups groups([&](const Stretch& stretch, int ranks, int nodes) {
    now.ranks = ranks;
    now.nodes = nodes;
    run(stretch, std::as_const(now));
  });
  std::vector<std::int64_t> index(outer, 0);
  for (std::int64_t first = 0; first < all; first += last.count) {
    std::int64_t b = 0, r = 0, n = 0;
    for (std::size_t i = 0; i < outer; ++i) {
      b += index[i] * grid.axes[i].bytes;
      r += index[i] * grid.axes[i].ranks;
      n += index[i] * grid.axes[i].nodes;
    }
    if (by_place) {
      if (grid.ranks != nullptr) now.ranks = count_at(grid.ranks + r, "ranks", first);
      if (grid.nodes != nullptr) now.nodes = count_at(grid.nodes + n, "nodes", first);
      run(Stretch{.first = first, .count = last.count, .bytes = sizes + b, .stride = last.bytes}, std::as_const(now));
    } else {
      int ranks = op.scalar.ranks, nodes = op.scalar.nodes;
      for (std::int64_t j = 0; j < last.count; ++j) {
        if (grid.ranks != nullptr) ranks = count_at(grid.ranks + r + j * last.ranks, "ranks", first + j);
        if (grid.nodes != nullptr) nodes = count_at(grid.nodes + n + j * last.nodes, "nodes", first + j);
        groups.add(first + j, number_at<double>(sizes + b + j * last.bytes), ranks, nodes);
      }
    }
    for (std::size_t i = outer; i-- > 0;) {
      if (++index[i] < grid.axes[i].count) break;
      index[i] = 0;
    }
  }
  groups.flush();
}

/// Cache of values by (ranks, nodes); cleared when it grows large, so that memory is bounded.
template <class Value>
class PerShape {
 public:
  template <class Make>
  const Value& of(const Operation& op, Make&& make) {
    const std::pair<int, int> key{op.ranks, op.nodes};
    if (last_ != nullptr && key == last_key_) return *last_;
    auto at = known_.find(key);
    if (at == known_.end()) {
      if (known_.size() == max) known_.clear();
      at = known_.emplace(key, make(op)).first;
    }
    last_key_ = key;
    last_ = &at->second;
    return *last_;
  }

 private:
  static constexpr std::size_t max = 256;
  std::map<std::pair<int, int>, Value> known_;
  std::pair<int, int> last_key_;
  const Value* last_ = nullptr;
};

/// The curve of the ranks and nodes of a stretch: with its table where many sizes pay for that. \throws RequestError saying which element
[[nodiscard]] const Curve& curve_of(PerShape<Curve>& curves, const Predictions& p, const System& system, const Operation& op,
                                    const Stretch& stretch);

}  // namespace fabricost::python
