/// The parts of fc.explore and fc.explore_serve (fabricost/_explore.py): the answer, and its points as columns.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"
#include "plan/si.hpp"

#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/parameters/interval.hpp>

#include <limits>
#include <string>

namespace py = pybind11;

namespace fabricost::python {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

[[nodiscard]] double elasticity(const ExplorePoint& point, const std::string& objective, std::string_view parameter) {
  for (const auto& [name, by] : point.elasticities)
    if (name == objective)
      for (const auto& [turned, value] : by)
        if (turned == parameter) return value;
  return none;
}

/// One column per axis and objective, then the others; texts as lists of them.
[[nodiscard]] py::dict columns(const ExploreAnswer& a) {
  using P = ExplorePoint;
  py::dict out;
  const auto add = [&](const std::string& name, auto get) {
    if (const py::str key = text_object(name); !out.contains(key)) out[key] = column_of(a.points, get);
  };
  const auto add_texts = [&](const std::string& name, auto get) { out[text_object(name)] = py::cast(texts_of(a.points, get)); };
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    if (a.axes[i].words.empty())
      add(a.axes[i].name, [i](const P& p) { return std::get<double>(p.at[i].second); });
    else
      add_texts(a.axes[i].name, [i](const P& p) -> std::string_view { return std::get<std::string>(p.at[i].second); });
  }
  for (std::size_t i = 0; i < a.objectives.size(); ++i)
    add(a.objectives[i].name, [i](const P& p) { return p.objectives[i].second.value_or(none); });
  add("low_seconds", [](const P& p) { return p.trouble.empty() ? p.interval.first.value() : none; });
  add("high_seconds", [](const P& p) { return p.trouble.empty() ? p.interval.second.value() : none; });
  add("meets", &P::meets);
  add("front", &P::front);
  add("idle_gpus", &P::idle_gpus);
  add("extra_dollars_per_gpu_hour", [](const P& p) { return p.extra_dollars_per_gpu_hour.value_or(none); });
  add_texts("layout", &P::layout);
  add_texts("binds", &P::binds);
  add_texts("trouble", &P::trouble);
  for (const P& point : a.points)  // every pair that any point has
    for (const auto& [objective, by] : point.elasticities)
      for (const auto& [parameter, value] : by)
        add("d " + objective + " / d " + parameter, [&](const P& p) { return elasticity(p, objective, parameter); });
  return out;
}

/// The answer with what is varied in SI units.
[[nodiscard]] ExploreAnswer explored_in_si(ExploreAnswer a) {
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    ExploreAxis& axis = a.axes[i];
    for (double& value : axis.values) value *= axis.worth;
    for (ExplorePoint& point : a.points)
      if (double* const value = std::get_if<double>(&point.at[i].second)) *value *= axis.worth;
    for (std::size_t j = 0; j < a.objectives.size(); ++j) {
      ExploreObjective& objective = a.objectives[j];
      if (objective.name != axis.name) continue;
      if (objective.limit) *objective.limit *= axis.worth;
      objective.unit = si_unit(axis.unit, axis.worth);
      for (ExplorePoint& point : a.points)
        if (auto& value = point.objectives[j].second) *value *= axis.worth;
    }
    axis.unit = si_unit(axis.unit, axis.worth);
    axis.worth = 1;
  }
  return a;
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
    return fmt::format("{} {}: {:+.2f} %", w.parameter, w.change, 100 * w.gain);
  });
  add_answer<ExplorePoint>(module, "ExplorePoint", "One combination of what is varied, with its plan.")
      .def("__repr__",
           [](const ExplorePoint& p) { return fmt::format("point {}: {}", p.number, p.trouble.empty() ? p.layout : p.trouble); });
  add_report<ExploreAnswer>(module, "_Explored", "The answer behind an Exploration.")
      .def("__repr__", [](const ExploreAnswer& a) { return verdict_of(a); })
      .def("columns", &columns, "columns(self)\n--\n\nThe points, a dict of columns.");
  add_question<WithProgress<ExploreRequest>>(module, "_explore", 2, "What fc.explore asks.", "", &explored_in_si);
  add_question<WithProgress<ExploreServeRequest>>(module, "_explore_serve", 2, "What fc.explore_serve asks.", "", &explored_in_si);
}

}  // namespace fabricost::python
