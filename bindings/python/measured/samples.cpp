/// \file samples.cpp
/// fc.read_log: the output of benchmarks as a structured array; and conversion of such arrays to points.

#include "measured/samples.hpp"

#include "arguments.hpp"
#include "bindings.hpp"
#include "machine.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <cmath>
#include <cstdint>
#include <unordered_map>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

[[nodiscard]] std::int8_t flag_code(std::optional<bool> value) { return static_cast<std::int8_t>(value ? (*value ? 1 : 0) : -1); }

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

/// text(i) of a column; equal texts are created once.
class Texts {
 public:
  Texts(const py::object& given, const char* name, py::ssize_t count) : name_(name), there_(!given.is_none()) {
    if (!there_) return;
    const py::array array = plain_array(given, name);
    if (array.attr("ndim").cast<int>() != 1 || array.attr("size").cast<py::ssize_t>() != count)
      throw RequestError(fmt::format("{}: a column of {} texts is wanted", name, count));
    list_ = array.attr("tolist")();
  }
  [[nodiscard]] explicit operator bool() const { return there_; }
  [[nodiscard]] SharedText operator[](py::ssize_t i) {
    const py::object one = list_[static_cast<std::size_t>(i)];
    const std::string text{text_of(one, name_)};
    auto& known = known_[text];
    if (known.empty()) known = SharedText{text};
    return known;
  }

 private:
  const char* name_;
  bool there_;
  py::list list_;
  std::unordered_map<std::string, SharedText> known_;
};

template <class Parse, class Names>
[[nodiscard]] auto parsed(std::string_view text, const char* what, py::ssize_t row, Parse parse, const Names& names) {
  const auto found = parse(text);
  if (!found) throw RequestError(fmt::format("sample {}: {}", row, unknown_text(text, what, names)));
  return *found;
}

[[nodiscard]] PointSource source_of(const py::object& system, const py::object& nodes, const py::object& ranks) {
  return {.system = system.is_none() ? std::string{} : origin_of(system).extends,
          .nodes = count_of(nodes, "nodes"),
          .ranks = count_of(ranks, "ranks")};
}

[[nodiscard]] py::array read_log(const py::object& path, const py::object& system, const py::object& nodes, const py::object& ranks) {
  const std::string file = path_of(path, "path");
  const PointSource otherwise = source_of(system, nodes, ranks);
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

py::array text_column(const std::vector<std::string_view>& texts) {
  std::unordered_map<std::string_view, std::int32_t> codes;
  py::list table;
  std::vector<std::int32_t> at;
  at.reserve(texts.size());
  for (const std::string_view text : texts) {
    const auto [found, fresh] = codes.try_emplace(text, static_cast<std::int32_t>(codes.size()));
    if (fresh)
      table.append(py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace")));
    at.push_back(found->second);
  }
  if (texts.empty()) table.append("");
  return py::array(numpy().attr("array")(table, "dtype"_a = "U")[number_column(at)]);
}

py::array structured(const std::vector<std::pair<const char*, py::array>>& columns) {
  py::list fields;
  for (const auto& [name, column] : columns) fields.append(py::make_tuple(name, column.dtype()));
  py::array out(numpy().attr("empty")(columns.front().second.size(), "dtype"_a = numpy().attr("dtype")(fields)));
  for (const auto& [name, column] : columns) out[name] = column;
  return out;
}

py::object data_frame(const py::array& structured) {
  py::dict columns;
  for (const py::handle name : structured.attr("dtype").attr("names")) columns[name] = structured[name];
  return frame_of(columns);
}

py::array samples_of(const std::vector<Point>& points) {
  const auto column = [&](auto get) { return column_of(points, get); };
  using View = std::string_view;
  return structured({
      {"bytes", column([](const Point& p) { return p.bytes; })},
      {"ranks", column([](const Point& p) { return static_cast<std::int32_t>(p.ranks()); })},
      {"nodes", column([](const Point& p) { return static_cast<std::int32_t>(p.nodes); })},
      {"seconds", column([](const Point& p) { return p.seconds; })},
      {"bus_bytes_per_second", column([](const Point& p) {
         return p.ranks() > 1 ? p.bytes / p.seconds * bus_factor(p.collective, p.ranks()) : p.bytes / p.seconds;
       })},
      {"operation", column([](const Point& p) { return name(p.collective); })},
      {"dtype", column([](const Point& p) { return name(p.dtype); })},
      {"in_place", column([](const Point& p) { return flag_code(p.in_place); })},
      {"algorithm", column([](const Point& p) { return p.algorithm ? name(*p.algorithm) : View{}; })},
      {"protocol", column([](const Point& p) { return p.protocol ? name(*p.protocol) : View{}; })},
      {"path", column([](const Point& p) { return p.path ? name(*p.path) : View{}; })},
      {"system", column([](const Point& p) { return View{p.system.str()}; })},
      {"source", column([](const Point& p) { return View{p.source.str()}; })},
      {"library", column([](const Point& p) { return View{p.library.str()}; })},
      {"library_version", column([](const Point& p) { return View{p.library_version.str()}; })},
      {"notes", column([](const Point& p) { return View{p.notes.str()}; })},
      {"gpu_direct", column([](const Point& p) { return flag_code(p.gpu_direct); })},
      {"sharp", column([](const Point& p) { return flag_code(p.sharp); })},
      {"nics_per_node", column([](const Point& p) { return static_cast<std::int32_t>(p.nics_per_node); })},
      {"nic_bits_per_second", column([](const Point& p) { return p.nic_rate.value(); })},
      {"both_ways", column([](const Point& p) { return flag_code(p.both_ways); })},
      {"streamed", column([](const Point& p) { return flag_code(p.streamed); })},
      {"contradicts_itself", column([](const Point& p) { return flag_code(p.contradicts_itself); })},
      {"repeats", column([](const Point& p) { return static_cast<std::int32_t>(p.repeats); })},
      {"launch", column([](const Point& p) { return name(p.launch.mode); })},
      {"gpus_of_process", column([](const Point& p) { return static_cast<std::int32_t>(p.launch.gpus); })},
      {"early_tests", column([](const Point& p) { return flag_code(p.early_tests); })},
  });
}

std::vector<Point> points_of(py::handle given) {
  const py::object samples = py::reinterpret_borrow<py::object>(given);
  const bool columns = py::isinstance<py::array>(samples) ? !samples.attr("dtype").attr("names").is_none()
                                                          : py::isinstance<py::dict>(samples) || py::hasattr(samples, "columns");
  if (!columns) throw_type("samples", "a structured array, a mapping of columns or the path of a log", given);
  const auto needed = [&](const char* name) {
    const py::object out = column(samples, name);
    if (out.is_none()) throw RequestError(fmt::format("samples: there is no column \"{}\"", name));
    return out;
  };
  const Doubles bytes = numbers_in(needed("bytes"), "bytes", -1), seconds = numbers_in(needed("seconds"), "seconds", bytes.size());
  const py::ssize_t count = bytes.size();
  const auto optional = [&](const char* name) {
    const py::object out = column(samples, name);
    return out.is_none() ? Doubles() : numbers_in(out, name, count);
  };
  const auto texts = [&](const char* name) { return Texts(column(samples, name), name, count); };
  const Doubles ranks = optional("ranks"), nodes = optional("nodes"), in_place = optional("in_place"), gpu_direct = optional("gpu_direct"),
                sharp = optional("sharp"), nics = optional("nics_per_node"), nic_rate = optional("nic_bits_per_second"),
                both = optional("both_ways"), streamed = optional("streamed"), wrong = optional("contradicts_itself"),
                repeats = optional("repeats"), driven = optional("gpus_of_process"), early = optional("early_tests");
  Texts operation = texts("operation"), dtype = texts("dtype"), algorithm = texts("algorithm"), protocol = texts("protocol"),
        path = texts("path"), system = texts("system"), source = texts("source"), library = texts("library"),
        version = texts("library_version"), notes = texts("notes"), launch = texts("launch");
  const auto launch_mode = [](std::string_view text) { return fabricost::detail::parse_enum<LaunchMode>(text, launch_mode_names); };
  const auto whole = [&](const Doubles& column, const char* name, py::ssize_t i, int otherwise) {
    if (column.size() == 0) return otherwise;
    const double value = column.data()[i];
    if (!(value >= 0 && value <= 2147483647 && value == std::floor(value)))
      throw RequestError(fmt::format("sample {}: {} {} is not a whole number from 0 to 2147483647", i, name, value));
    return static_cast<int>(value);
  };
  const auto flag_at = [](const Doubles& column, py::ssize_t i) -> std::optional<bool> {
    if (column.size() == 0 || column.data()[i] < 0) return std::nullopt;
    return column.data()[i] != 0;
  };
  std::vector<Point> out;
  out.reserve(static_cast<std::size_t>(count));
  for (py::ssize_t i = 0; i < count; ++i) {
    Point p;
    p.bytes = bytes.data()[i];
    p.seconds = seconds.data()[i];
    if (!(p.bytes >= 0 && p.bytes < 1e18)) throw RequestError(fmt::format("sample {}: bytes {} is not between 0 and 10^18", i, p.bytes));
    if (!(p.seconds > 0 && std::isfinite(p.seconds)))
      throw RequestError(fmt::format("sample {}: seconds {} is not above zero", i, p.seconds));
    const int all = whole(ranks, "ranks", i, 0);
    p.nodes = std::max(1, whole(nodes, "nodes", i, 1));
    if (all % p.nodes != 0) throw RequestError(fmt::format("sample {}: {} ranks do not spread evenly over {} nodes", i, all, p.nodes));
    p.gpus_per_node = all / p.nodes;
    if (operation) p.collective = parsed(operation[i].str(), "an operation", i, parse_collective, collective_names);
    if (dtype && !dtype[i].empty()) p.dtype = parsed(dtype[i].str(), "a data type", i, parse_data_type, data_type_names);
    if (algorithm && !algorithm[i].empty()) p.algorithm = parsed(algorithm[i].str(), "an algorithm", i, parse_algorithm, algorithm_names);
    if (protocol && !protocol[i].empty()) p.protocol = parsed(protocol[i].str(), "a protocol", i, parse_protocol, protocol_names);
    if (path && !path[i].empty()) p.path = parsed(path[i].str(), "a path", i, parse_path, path_names);
    if (system) p.system = system[i];
    if (source) p.source = source[i];
    if (library) p.library = library[i];
    if (version) p.library_version = version[i];
    if (notes) p.notes = notes[i];
    p.in_place = flag_at(in_place, i);
    p.gpu_direct = flag_at(gpu_direct, i);
    p.sharp = flag_at(sharp, i);
    p.nics_per_node = whole(nics, "nics_per_node", i, 0);
    if (nic_rate.size() > 0) p.nic_rate = LineRate::from_value(nic_rate.data()[i]);
    p.both_ways = flag_at(both, i).value_or(false);
    p.streamed = flag_at(streamed, i).value_or(false);
    p.contradicts_itself = flag_at(wrong, i).value_or(false);
    p.repeats = std::max(1, whole(repeats, "repeats", i, 1));
    if (launch && !launch[i].empty()) p.launch.mode = parsed(launch[i].str(), "a way to launch", i, launch_mode, launch_mode_names);
    p.launch.gpus = static_cast<unsigned short>(std::min(65535, whole(driven, "gpus_of_process", i, 0)));
    p.early_tests = flag_at(early, i).value_or(false);
    out.push_back(std::move(p));
  }
  return out;
}

void add_samples(py::module_& module) {
  const auto add = [&](const char* name, const char* doc) {
    module.def(name, &read_log, "path"_a, py::kw_only(), "system"_a = py::none(), "nodes"_a = 0, "ranks"_a = 0, doc);
  };
  add("read_log", R"(read_log(path, *, system=None, nodes=0, ranks=0)
--

Measured times of a point CSV or of what nccl-tests, rccl-tests, nvbandwidth, p2pBandwidthLatencyTest, OSU, IMB or perftest printed
(recognised by content), as a structured array with the fields

    bytes                    size as nccl-tests counts it, byte
    ranks, nodes             who took part; ranks 0 where the log does not say
    seconds                  s
    bus_bytes_per_second     bytes / seconds x bus factor (NVIDIA/nccl-tests, doc/PERFORMANCE.md), byte/s
    operation, dtype, algorithm, protocol, path, system, source, library, library_version, notes      texts, empty where unknown
    in_place, gpu_direct, sharp                                                                        1, 0, or -1 where unknown

and what else is known of a point. system, nodes, ranks: what the file does not say itself.

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
  add("read_nccl_log", R"(read_nccl_log(path, *, system=None, nodes=0, ranks=0)
--

read_log, by the name of what is read most often: the output of nccl-tests or rccl-tests, text or JSON.
)");
}

}  // namespace fabricost::python

void fabricost::from_object(py::handle given, std::string_view name, const Range&, std::vector<Sample>& out) {
  const auto several = [](py::handle one) { return py::isinstance<py::list>(one) || py::isinstance<py::tuple>(one); };
  const auto add = [&](py::handle one) {
    if (PyUnicode_Check(one.ptr()) != 0 || py::hasattr(one, "__fspath__")) {
      out.push_back({python::path_of(one, name), {}});
      if (out.back().file.empty()) throw RequestError(fmt::format("{}: an empty path", name));
    } else {
      out.push_back({{}, python::points_of(one)});
    }
  };
  if (!several(given)) return add(given);
  for (const py::handle one : given) {
    if (several(one)) python::throw_type(name, "no list in a list, but samples or the path of a log", one);
    add(one);
  }
}
