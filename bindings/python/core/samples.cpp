/// fc.read_log: the output of benchmarks as a structured array; and conversion of such arrays to points.

#include "core/samples.hpp"

#include "arguments.hpp"
#include "bindings.hpp"
#include "machine.hpp"
#include "record.hpp"

#include <fabricost/answers/predict.hpp>
#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

struct RanksOfPoint {
  [[nodiscard]] int operator()(const Point& p) const { return p.ranks(); }
  [[nodiscard]] int& operator()(Point& p) const { return p.gpus_per_node; }  ///< of all nodes, until they are known
};

/// each(name, member) for the columns of samples in their order: the member of a Point, or a function of one, which is not read.
template <class Each>
void for_each_column(const Each& each) {
  each("bytes", &Point::bytes);
  each("ranks", RanksOfPoint{});
  each("nodes", &Point::nodes);
  each("seconds", &Point::seconds);
  each("bus_bytes_per_second",
       [](const Point& p) { return p.bytes / p.seconds * (p.ranks() > 1 ? bus_factor(p.collective, p.ranks()) : 1); });
  each("operation", &Point::collective);
  each("dtype", &Point::dtype);
  each("in_place", &Point::in_place);
  each("algorithm", &Point::algorithm);
  each("protocol", &Point::protocol);
  each("path", &Point::path);
  each("system", &Point::system);
  each("source", &Point::source);
  each("library", &Point::library);
  each("library_version", &Point::library_version);
  each("notes", &Point::notes);
  each("gpu_direct", &Point::gpu_direct);
  each("sharp", &Point::sharp);
  each("nics_per_node", &Point::nics_per_node);
  each("nic_bits_per_second", &Point::nic_rate);
  each("both_ways", &Point::both_ways);
  each("streamed", &Point::streamed);
  each("contradicts_itself", &Point::contradicts_itself);
  each("repeats", &Point::repeats);
  each(
      "launch", [](auto& p) -> auto& { return p.launch.mode; });
  each(
      "gpus_of_process", [](auto& p) -> auto& { return p.launch.gpus; });
  each("early_tests", &Point::early_tests);
  each("launched", &Point::launched);
  each("releases", &Point::releases);
  each("reduction", &Point::redop);
  each("windows", &Point::windows);
  each("nvls", &Point::nvls);
  each("pxn", &Point::pxn);
}

template <class T>
inline constexpr bool is_flag = std::same_as<T, bool> || std::same_as<T, std::optional<bool>>;

/// A member as an element of its column: a flag is 1, 0, or -1 where it is unknown, an unknown name is empty.
template <class T>
[[nodiscard]] auto cell_of(const T& value) {
  if constexpr (is_flag<T>) {
    const std::optional<bool> known = value;
    return static_cast<std::int8_t>(known ? *known : -1);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? name(*value) : std::string_view{};
  } else if constexpr (std::is_enum_v<T>) {
    return name(value);
  } else if constexpr (std::integral<T>) {
    return static_cast<std::int32_t>(value);
  } else if constexpr (std::same_as<T, SharedText>) {
    return std::string_view{value.str()};
  } else {
    return plain(value);
  }
}

/// The element of a sample into a member that still has its default.
template <class T>
void read_cell(double cell, const char* name, std::size_t sample, T& value) {
  if constexpr (is_flag<T>) {
    if (!(cell < 0)) value = cell != 0;
  } else if constexpr (std::integral<T>) {
    if (!(cell >= 0 && cell <= 2147483647 && cell == std::floor(cell)))
      throw RequestError(fmt::format("sample {}: {} {} is not a whole number from 0 to 2147483647", sample, name, cell));
    value = static_cast<T>(std::clamp(cell, static_cast<double>(value), static_cast<double>(std::numeric_limits<T>::max())));
  } else if constexpr (std::same_as<T, double>) {
    value = cell;
  } else {
    value = T::from_value(cell);
  }
}
template <class T>
void read_cell(const SharedText& cell, const char* name, std::size_t sample, T& value) {
  if constexpr (std::same_as<T, SharedText>) {
    value = cell;
  } else if constexpr (requires { value.emplace(); }) {
    if (!cell.empty()) read_cell(cell, name, sample, value.emplace());
  } else if (!cell.empty() || std::same_as<T, Collective>) {  // without an operation there is no column of them
    const auto found = worded<T>(cell);
    if (!found) throw RequestError(fmt::format("sample {}: {}", sample, unknown_value<T>(cell)));
    value = *found;
  }
}

/// A column of the given samples; None if it is missing.
[[nodiscard]] py::object column(const py::object& samples, const char* name) {
  const py::object names = py::hasattr(samples, "dtype") ? py::getattr(samples.attr("dtype"), "names", py::none()) : py::object(py::none());
  const bool there = !names.is_none() ? names.contains(name) : samples.contains(name);
  return there ? py::object(samples[name]) : py::object(py::none());
}

using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// A column of numbers. \throws naming the column if its length is wrong or it has other values
[[nodiscard]] Doubles numbers_in(const py::object& given, const char* name, py::ssize_t count) {
  const py::array array = plain_array(given, name);
  const char kind = array.dtype().kind();
  if (kind != 'i' && kind != 'u' && kind != 'f' && kind != 'b')
    throw py::type_error(fmt::format("{}: a column of numbers is wanted", name));
  if (array.ndim() != 1 || (count >= 0 && array.size() != count))
    throw RequestError(fmt::format("{}: a column of {} numbers is wanted", name, count < 0 ? "" : std::to_string(count)));
  return Doubles(array);
}

/// A column of texts, of which equal ones are made once.
[[nodiscard]] std::vector<SharedText> texts_in(const py::object& given, const char* name, py::ssize_t count) {
  const py::array array = plain_array(given, name);
  if (array.ndim() != 1 || array.size() != count) throw RequestError(fmt::format("{}: a column of {} texts is wanted", name, count));
  std::unordered_map<std::string, SharedText> known;
  std::vector<SharedText> out;
  for (const py::handle one : py::list(array.attr("tolist")())) {
    const std::string text{text_of(one, name)};
    out.push_back(known.try_emplace(text, text).first->second);
  }
  return out;
}

[[nodiscard]] PointDefaults source_of(const py::object& system, const py::object& nodes, const py::object& ranks) {
  return {.system = system.is_none() ? std::string{} : origin_of(system).extends,
          .nodes = count_of(nodes, "nodes"),
          .ranks = count_of(ranks, "ranks")};
}

[[nodiscard]] py::array read_log(const py::object& path, const py::object& system, const py::object& nodes, const py::object& ranks) {
  const std::string file = path_of(path, "path");
  const PointDefaults otherwise = source_of(system, nodes, ranks);
  Points points;
  {
    const py::gil_scoped_release released;
    points = read_points(file, otherwise);
  }
  if (points.points.empty()) {
    std::string why;
    for (const Skipped& s : points.skipped) why += fmt::format("\n  {} rows: {}", s.rows, s.reason);
    throw RequestError(fmt::format("{}: no row that can be used{}{}", file, why.empty() ? "" : ":", why));
  }
  return samples_of(points.points);
}

}  // namespace

CodedTexts coded(const std::vector<std::string_view>& texts) {
  std::unordered_map<std::string_view, std::int32_t> known;
  CodedTexts out{py::array_t<std::int32_t>(static_cast<py::ssize_t>(texts.size())), py::list()};
  std::transform(texts.begin(), texts.end(), out.codes.mutable_data(), [&](std::string_view text) {
    const auto [found, fresh] = known.try_emplace(text, static_cast<std::int32_t>(known.size()));
    if (fresh) out.texts.append(text_object(text));
    return found->second;
  });
  return out;
}

py::array text_column(const std::vector<std::string_view>& texts) {
  CodedTexts all = coded(texts);
  if (texts.empty()) all.texts.append("");
  return py::array(numpy().attr("array")(all.texts, "dtype"_a = "U")[all.codes]);
}

py::array structured(const std::vector<std::pair<const char*, py::array>>& columns) {
  py::list fields;
  for (const auto& [name, column] : columns) fields.append(py::make_tuple(name, column.dtype()));
  py::array out(numpy().attr("empty")(columns.front().second.size(), "dtype"_a = numpy().attr("dtype")(fields)));
  for (const auto& [name, column] : columns) out[name] = column;
  return out;
}

py::array samples_of(const std::vector<Point>& points) {
  std::vector<std::pair<const char*, py::array>> columns;
  for_each_column([&](const char* name, auto member) {
    columns.emplace_back(name, column_of(points, [&](const Point& p) { return cell_of(std::invoke(member, p)); }));
  });
  return structured(columns);
}

std::vector<Point> points_of(py::handle given) {
  const py::object samples = py::reinterpret_borrow<py::object>(given);
  const bool columns = py::isinstance<py::array>(samples) ? !samples.attr("dtype").attr("names").is_none()
                                                          : py::isinstance<py::dict>(samples) || py::hasattr(samples, "columns");
  if (!columns) throw_type("samples", "a structured array, a mapping of columns or the path of a log", given);
  for (const char* const name : {"bytes", "seconds"}) {
    if (!column(samples, name).is_none()) continue;
    const py::object names = py::isinstance<py::array>(samples) ? samples.attr("dtype").attr("names") : samples;
    throw RequestError(fmt::format("samples: there is no column \"{}\"; there are {}", name, std::string(py::str(py::list(names)))));
  }
  const py::ssize_t count = numbers_in(column(samples, "bytes"), "bytes", -1).size();
  std::vector<Point> out(static_cast<std::size_t>(count));
  for_each_column([&](const char* name, auto member) {
    using Member = std::invoke_result_t<decltype(member), Point&>;
    if constexpr (std::is_lvalue_reference_v<Member>) {
      const py::object of_all = column(samples, name);
      if (of_all.is_none()) return;
      const auto cells = [&] {
        if constexpr (std::same_as<decltype(cell_of(std::declval<Member>())), std::string_view>)
          return texts_in(of_all, name, count);
        else
          return numbers_in(of_all, name, count);
      }();
      for (std::size_t i = 0; i < out.size(); ++i) read_cell(cells.at(i), name, i, std::invoke(member, out[i]));
    }
  });
  for (std::size_t i = 0; i < out.size(); ++i) {
    Point& p = out[i];
    if (!(p.bytes >= 0 && p.bytes < 1e18)) throw RequestError(fmt::format("sample {}: bytes {} is not between 0 and 10^18", i, p.bytes));
    if (!(p.seconds > 0 && std::isfinite(p.seconds)))
      throw RequestError(fmt::format("sample {}: seconds {} is not above zero", i, p.seconds));
    const int ranks = p.gpus_per_node;
    if (ranks % p.nodes != 0) throw RequestError(fmt::format("sample {}: {} ranks do not spread evenly over {} nodes", i, ranks, p.nodes));
    p.gpus_per_node = ranks / p.nodes;
  }
  return out;
}

void add_samples(py::module_& module) {
  module.def(
      "merge_repeats", [](const py::object& samples) { return samples_of(merge_repeats(points_of(samples))); }, "samples"_a,
      R"(merge_repeats(samples)
--

Measured times with repeats merged by their median, in the order of first occurrence, as validate and calibrate merge them.

Parameters
----------
samples : structured array, mapping or pandas.DataFrame
    As read_log returns them.
)");
  const auto add = [&](const char* name, const char* doc) {
    module.def(name, &read_log, "path"_a, py::kw_only(), "system"_a = py::none(), "nodes"_a = 0, "ranks"_a = 0, doc);
  };
  add("read_log", R"(read_log(path, *, system=None, nodes=0, ranks=0)
--

Measured times of a point CSV or of what nccl-tests, rccl-tests, nvbandwidth, p2pBandwidthLatencyTest, OSU or perftest printed
(recognised by content), as a structured array with the fields

    bytes                    size as nccl-tests counts it, byte
    ranks, nodes             who took part; ranks 0 where the log does not say
    seconds                  s
    bus_bytes_per_second     bytes / seconds x bus factor (NVIDIA/nccl-tests, doc/PERFORMANCE.md), byte/s
    operation, dtype, algorithm, protocol, path, system, source, library, library_version, notes      texts, empty where unknown
    in_place, gpu_direct, sharp                                                                        1, 0, or -1 where unknown

and what else is known of a point.

Parameters
----------
path : path
    The file.
system : System | path | None, optional
    The machine, where the file does not say it.
nodes : int, default 0
    Nodes, where the file does not say them; 0: it does.
ranks : int, default 0
    GPUs, where the file does not say them; 0: it does.

Raises SpecError with file, line and column for a file that is none of these, RequestError when nothing in it can be used.

>>> import fabricost as fc, os, tempfile
>>> log = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us\nmine,dgx-h100,1,8,all_reduce,float,1048576,36.1\n"
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "points.csv")
...     with open(path, "w") as file: _ = file.write(log)
...     samples = fc.read_log(path)
>>> len(samples), samples["bytes"][0], int(samples["ranks"][0]), round(float(samples["seconds"][0]) * 1e6, 3)
(1, np.float64(1048576.0), 8, 36.1)
)");
}

}  // namespace fabricost::python

void fabricost::core::from_object(py::handle given, std::string_view name, const Range&, std::vector<Sample>& out) {
  const auto several = [](py::handle one) { return py::isinstance<py::list>(one) || py::isinstance<py::tuple>(one); };
  const auto add = [&](py::handle one) {
    if (python::is_path(one))
      out.push_back({python::file_of(one, name), {}});
    else
      out.push_back({{}, python::points_of(one)});
  };
  if (!several(given)) return add(given);
  for (const py::handle one : given) {
    if (several(one)) python::throw_type(name, "no list in a list, but samples or the path of a log", one);
    add(one);
  }
}
