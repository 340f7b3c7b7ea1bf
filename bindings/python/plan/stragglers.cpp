/// fc.stragglers.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/plan/answers/stragglers.hpp>

#include <pybind11/numpy.h>

namespace py = pybind11;

namespace fabricost::plan {

/// A path, or numbers of seconds.
static void from_object(py::handle given, std::string_view name, const Range&, TimesGiven& out) {
  if (python::is_path(given)) {
    out.file = python::file_of(given, name);
    return;
  }
  const py::array all = python::plain_array(given, name, "s");
  if (all.attr("dtype").attr("kind").cast<std::string>().find_first_of("fiu") == std::string::npos)
    python::throw_type(name, "a path, or numbers of seconds,", given);
  const auto seconds = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(all);
  if (!seconds) throw py::error_already_set();
  out.seconds.assign(seconds.data(), seconds.data() + seconds.size());
}

static void from_object(py::handle given, std::string_view name, const Range&, std::vector<SlowKind>& out) {
  constexpr const char* wanted = "a list of (share, factor)";
  if (!python::is_list(given)) python::throw_type(name, wanted, given);
  for (const py::handle one : given) {
    if (!python::is_list(one) || py::len(one) != 2) python::throw_type(name, wanted, one);
    const auto pair = py::reinterpret_borrow<py::sequence>(one);
    out.push_back({python::real(py::object(pair[0]), name, 0, 1), python::real(py::object(pair[1]), name, 1, 1e6)});
  }
}

}  // namespace fabricost::plan

namespace fabricost::python {

void add_stragglers(py::module_& module) {
  add_argument_type<TimesGiven>("Any");
  add_argument_type<std::vector<SlowKind>>("Any", false, &no_items);
  add_answer<StragglersAtRanks>(module, "StragglersAtRanks", "The same over another number of ranks.")
      .def("__repr__", [](const StragglersAtRanks& r) { return fmt::format("{:.0f} ranks: {:.4g} s", r.ranks, r.step.value()); });
  add_answer<SlowRank>(module, "SlowRank", "A rank that is slow all the time: 5 % above the middle one.")
      .def("__repr__", [](const SlowRank& r) { return fmt::format("rank {}: {:.4g} s", r.rank, r.mean.value()); });
  add_answer<StragglersAnswer>(module, "Stragglers", "The time a step loses to its slowest rank. Made by stragglers.")
      .def("__repr__", [](const StragglersAnswer& w) { return verdict_of(w); });
  add_question<StragglersRequest>(
      module, "stragglers", 1,
      R"(The time a step loses to its slowest rank, a Stragglers: E[max of n] = int x d F(x)^n, ranks independent.

times is an array of seconds, or a file; or give a distribution, mean_seconds and deviation_seconds, or p50_seconds and p99_seconds.
slow is a list of (share, factor).)",
      R"(>>> import fabricost as fc
>>> fc.stragglers(ranks=4, mean_seconds=1, deviation_seconds=1, shape="exponential").step_seconds  # 1 + 1/2 + 1/3 + 1/4
2.083333333333333
)");
}

}  // namespace fabricost::python
