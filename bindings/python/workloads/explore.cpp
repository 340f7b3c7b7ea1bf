/// \file explore.cpp
/// The parts of fc.explore and fc.explore_serve (fabricost/_explore.py): the answer, and its points as columns.

#include "bindings.hpp"
#include "face.hpp"

#include <fabricost/answers/design/explore.hpp>
#include <fabricost/kernels/interval.hpp>

#include <limits>

namespace py = pybind11;

namespace fabricost::python {
namespace {

template <class Get>
[[nodiscard]] py::array numbers_of(const ExploreAnswer& a, Get get) {
  py::array_t<double> out(static_cast<py::ssize_t>(a.points.size()));
  double* const to = out.mutable_data();
  for (std::size_t i = 0; i < a.points.size(); ++i) to[i] = get(a.points[i]).value_or(std::numeric_limits<double>::quiet_NaN());
  return out;
}
template <class Get>
[[nodiscard]] py::list texts_of(const ExploreAnswer& a, Get get) {
  py::list out;
  for (const ExplorePoint& point : a.points) out.append(text_object(get(point)));
  return out;
}
template <class Get>
[[nodiscard]] py::array flags_of(const ExploreAnswer& a, Get get) {
  py::array_t<bool> out(static_cast<py::ssize_t>(a.points.size()));
  bool* const to = out.mutable_data();
  for (std::size_t i = 0; i < a.points.size(); ++i) to[i] = get(a.points[i]);
  return out;
}
[[nodiscard]] std::optional<double> elasticity(const ExplorePoint& point, const std::string& objective, std::string_view dial) {
  for (const auto& [name, by] : point.elasticities)
    if (name == objective)
      for (const auto& [turned, value] : by)
        if (turned == dial) return value;
  return std::nullopt;
}

/// One column per axis and objective, then the others; names of axes as lists of texts.
[[nodiscard]] py::dict columns(const ExploreAnswer& a) {
  py::dict out;
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const py::str name = text_object(a.axes[i].name);
    if (a.axes[i].words.empty())
      out[name] = numbers_of(a, [i](const ExplorePoint& p) { return std::optional{std::get<double>(p.at[i].second)}; });
    else
      out[name] = texts_of(a, [i](const ExplorePoint& p) { return std::get<std::string>(p.at[i].second); });
  }
  for (std::size_t i = 0; i < a.objectives.size(); ++i) {
    const py::str name = text_object(a.objectives[i].name);
    if (!out.contains(name)) out[name] = numbers_of(a, [i](const ExplorePoint& p) { return p.objectives[i].second; });
  }
  const auto runs = [](const ExplorePoint& p, double x) { return p.trouble.empty() ? std::optional{x} : std::nullopt; };
  out["low_seconds"] = numbers_of(a, [&](const ExplorePoint& p) { return runs(p, p.interval_seconds.first); });
  out["high_seconds"] = numbers_of(a, [&](const ExplorePoint& p) { return runs(p, p.interval_seconds.second); });
  out["meets"] = flags_of(a, [](const ExplorePoint& p) { return p.meets; });
  out["front"] = flags_of(a, [](const ExplorePoint& p) { return p.front; });
  out["layout"] = texts_of(a, [](const ExplorePoint& p) { return p.layout; });
  out["binds"] = texts_of(a, [](const ExplorePoint& p) { return p.binds; });
  out["trouble"] = texts_of(a, [](const ExplorePoint& p) { return p.trouble; });
  std::vector<std::pair<std::string, std::string>> known;  // every pair that any point has
  for (const ExplorePoint& point : a.points)
    for (const auto& [objective, by] : point.elasticities)
      for (const auto& [dial, value] : by)
        if (std::find(known.begin(), known.end(), std::pair{objective, dial}) == known.end()) known.emplace_back(objective, dial);
  for (const auto& [objective, dial] : known)
    out[text_object("d " + objective + " / d " + dial)] =
        numbers_of(a, [&](const ExplorePoint& p) { return elasticity(p, objective, dial); });
  return out;
}

}  // namespace

void add_explore(py::module_& module) {
  module.def("_likely_shorter", &likely_shorter, py::arg("longer"), py::arg("half_width"), py::arg("other_half_width"), py::arg("one_gpu"),
             "_likely_shorter(longer, half_width, other_half_width, one_gpu)\n--\n\nHow likely a step is shorter than another.");
  add_answer<ExploreAxis>(module, "ExploreAxis", "One thing that explore varies.").def("__repr__", [](const ExploreAxis& a) {
    return fmt::format("{}: {} values", a.name, a.size());
  });
  add_answer<ExploreObjective>(module, "ExploreObjective", "What counts in explore.").def("__repr__", [](const ExploreObjective& o) {
    return fmt::format("{}, {} is better", o.name, o.more_is_better ? "more" : "less");
  });
  add_answer<ExploreWorth>(module, "ExploreWorth", "What more of one part of a machine gives.").def("__repr__", [](const ExploreWorth& w) {
    return fmt::format("{} {}: {:+.2f} %", w.dial, w.change, 100 * w.gain);
  });
  add_answer<ExplorePoint>(module, "ExplorePoint", "One combination of what is varied, with its plan.")
      .def("__repr__",
           [](const ExplorePoint& p) { return fmt::format("point {}: {}", p.number, p.trouble.empty() ? p.layout : p.trouble); });
  add_report<ExploreAnswer>(module, "_Explored", "The answer behind an Exploration.")
      .def("columns", &columns, "columns(self)\n--\n\nThe points, a dict of columns.");
  add_face<ExploreRequest>(module, "_explore", 2, "What fc.explore asks.", "");
  add_face<ExploreServeRequest>(module, "_explore_serve", 2, "What fc.explore_serve asks.", "");
}

}  // namespace fabricost::python
