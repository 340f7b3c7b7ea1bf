/// Broadcasting as in NumPy: axes are aligned from the last; along each, fields have the same count, or one.

#include "core/grid.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace py = pybind11;

namespace fabricost::python {
namespace {

struct Given {
  const char* name;
  const py::object* given;
};

[[nodiscard]] std::array<Given, 3> given_of(const OperationRequest& op) {
  return {Given{"bytes", &op.bytes}, Given{"ranks", &op.ranks}, Given{"nodes", &op.nodes}};
}

[[nodiscard]] py::array as_array(const py::object& given) { return py::reinterpret_borrow<py::array>(given); }

}  // namespace

std::vector<py::ssize_t> broadcast_shape(const OperationRequest& op) {
  std::size_t max = 0;
  for (const Given& field : given_of(op))
    if (*field.given) max = std::max(max, static_cast<std::size_t>(as_array(*field.given).ndim()));
  std::vector<py::ssize_t> out(max, 1);
  bool fits = true;
  std::string shapes;
  for (const Given& field : given_of(op)) {
    if (!*field.given) continue;
    const py::array array = as_array(*field.given);
    const auto dims = static_cast<std::size_t>(array.ndim());
    for (std::size_t i = 0; i < dims; ++i) {
      py::ssize_t& here = out[max - dims + i];
      const py::ssize_t count = array.shape(static_cast<py::ssize_t>(i));
      if (here == 1)
        here = count;
      else if (count != 1 && count != here)
        fits = false;
    }
    shapes += fmt::format("{}{} {}", shapes.empty() ? "" : ", ", field.name, py::str(array.attr("shape")).cast<std::string>());
  }
  if (!fits) throw RequestError("shapes do not broadcast: " + shapes);
  double all = 1;
  for (const py::ssize_t count : out) all *= static_cast<double>(count);
  if (all > 1e12) throw RequestError("shapes broadcast to more than 10^12 elements: " + shapes);
  return out;
}

Grid grid_of(const OperationRequest& op, const std::vector<py::ssize_t>& shape) {
  Grid grid;
  std::vector<Grid::Axis> axes(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) axes[i].count = shape[i];
  const auto place = [&](const py::object& given, const char*& memory, std::int64_t Grid::Axis::*stride) {
    if (!given) return;
    const py::array array = as_array(given);
    memory = static_cast<const char*>(array.data());
    const auto dims = static_cast<std::size_t>(array.ndim());
    for (std::size_t i = 0; i < dims; ++i)
      if (array.shape(static_cast<py::ssize_t>(i)) != 1) axes[shape.size() - dims + i].*stride = array.strides(static_cast<py::ssize_t>(i));
  };
  place(op.bytes, grid.bytes, &Grid::Axis::bytes);
  place(op.ranks, grid.ranks, &Grid::Axis::ranks);
  place(op.nodes, grid.nodes, &Grid::Axis::nodes);
  for (const Grid::Axis& axis : axes) {
    if (axis.count == 1) continue;
    if (!grid.axes.empty()) {
      Grid::Axis& before = grid.axes.back();
      if (before.bytes == axis.bytes * axis.count && before.ranks == axis.ranks * axis.count && before.nodes == axis.nodes * axis.count) {
        const std::int64_t count = before.count * axis.count;
        before = axis;
        before.count = count;
        continue;
      }
    }
    grid.axes.push_back(axis);
  }
  return grid;
}

std::string place_text(const std::vector<py::ssize_t>& shape, std::int64_t at) {
  if (shape.empty()) return "";
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = at % shape[i];
    at /= shape[i];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

void throw_bad_count(const char* field, std::int64_t value, const std::vector<py::ssize_t>& shape, std::int64_t at) {
  throw RequestError(
      fmt::format("{}{}: {} is {}", field, place_text(shape, at), value,
                  value < 0 ? "negative; 0 leaves it to the machine" : fmt::format("too many; at most {:.0f}", any_count.max)));
}

void Groups::flush() {
  for (const Group& group : groups_)
    run_({.first = first_,
          .at = group.at,
          .count = static_cast<std::int64_t>(group.sizes.size()),
          .bytes = reinterpret_cast<const char*>(group.sizes.data()),
          .stride = sizeof(double)},
         group.ranks, group.nodes);
  groups_.clear();
  places_.clear();
  added_ = 0;
}

}  // namespace fabricost::python
