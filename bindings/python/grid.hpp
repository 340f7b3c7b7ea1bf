#pragma once
/// \file grid.hpp
/// The elements of a question whose fields are arrays: NumPy's broadcasting, and a walk over all of them in C order.

#include "operations.hpp"
#include "predictions.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::python {

/// The shape all fields broadcast to. \throws RequestError naming fields and shapes that do not
[[nodiscard]] std::vector<pybind11::ssize_t> broadcast_shape(const AskedOperation& op);

/// \param shape that of broadcast_shape
[[nodiscard]] Grid grid_of(const AskedOperation& op, const std::vector<pybind11::ssize_t>& shape);

/// "[3, 0]", or "" without axes.
[[nodiscard]] std::string place_text(const std::vector<pybind11::ssize_t>& shape, std::int64_t at);

template <class Number>
[[nodiscard]] Number number_at(const char* memory) {
  Number out;
  std::memcpy(&out, memory, sizeof out);
  return out;
}

/// run(first, count, bytes, stride, operation) for stretches of elements that differ in their size only: `first` counts elements in C
/// order, `bytes` points to the first size, `stride` leads to the next.
/// \throws RequestError for ranks or nodes that are negative or too many
template <class Run>
void for_each_run(const Grid& grid, const AskedOperation& op, const std::vector<pybind11::ssize_t>& shape, Run&& run) {
  std::int64_t all = 1;
  for (const Grid::Axis& axis : grid.axes) all *= axis.count;
  if (all == 0) return;
  const double one = op.scalar.bytes.value();
  const char* const sizes = grid.bytes != nullptr ? grid.bytes : reinterpret_cast<const char*>(&one);
  Operation now = op.scalar;
  const auto set = [&](int& field, const char* memory, const char* name, std::int64_t at) {
    const auto value = number_at<std::int64_t>(memory);
    if (value < 0 || value > 2147483647)
      throw RequestError(std::string{name} + place_text(shape, at) + ": " + std::to_string(value) +
                         (value < 0 ? " is negative; 0 leaves it to the machine" : " is too many; at most 2147483647"));
    field = static_cast<int>(value);
  };
  const Grid::Axis last = grid.axes.empty() ? Grid::Axis{} : grid.axes.back();
  const std::size_t outer = grid.axes.empty() ? 0 : grid.axes.size() - 1;
  const bool sizes_only = last.ranks == 0 && last.nodes == 0;
  std::vector<std::int64_t> index(outer, 0);
  for (std::int64_t first = 0; first < all; first += last.count) {
    std::int64_t b = 0, r = 0, n = 0;
    for (std::size_t i = 0; i < outer; ++i) {
      b += index[i] * grid.axes[i].bytes;
      r += index[i] * grid.axes[i].ranks;
      n += index[i] * grid.axes[i].nodes;
    }
    const std::int64_t stretches = sizes_only ? 1 : last.count, length = sizes_only ? last.count : 1;
    for (std::int64_t j = 0; j < stretches; ++j) {
      if (grid.ranks != nullptr) set(now.ranks, grid.ranks + r + j * last.ranks, "ranks", first + j);
      if (grid.nodes != nullptr) set(now.nodes, grid.nodes + n + j * last.nodes, "nodes", first + j);
      run(first + j, length, sizes + b + j * last.bytes, last.bytes, std::as_const(now));
    }
    for (std::size_t i = outer; i-- > 0;) {
      if (++index[i] < grid.axes[i].count) break;
      index[i] = 0;
    }
  }
}

/// What was made for the (ranks, nodes) seen last; forgets when there are many, so that memory stays bounded.
template <class Value>
class PerShape {
 public:
  template <class Make>
  const Value& of(const Operation& op, Make&& make) {
    const std::pair<int, int> key{op.ranks, op.nodes};
    if (last_ != nullptr && key == last_key_) return *last_;
    auto at = known_.find(key);
    if (at == known_.end()) {
      if (known_.size() == most) known_.clear();
      at = known_.emplace(key, make(op)).first;
    }
    last_key_ = key;
    last_ = &at->second;
    return *last_;
  }

 private:
  static constexpr std::size_t most = 256;
  std::map<std::pair<int, int>, Value> known_;
  std::pair<int, int> last_key_;
  const Value* last_ = nullptr;
};

}  // namespace fabricost::python
