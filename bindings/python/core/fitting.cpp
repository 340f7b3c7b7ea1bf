/// fc.calibrate: fits a machine's constants to measurements, with the certainty of each; fits of tables; fc.constants: all that are fitted;
/// fc.calibrate_machine: this machine from the output of `fabricost measure`.

#include "arguments.hpp"
#include "bindings.hpp"
#include "copies.hpp"
#include "core/fitted_constants.hpp"
#include "core/operations.hpp"
#include "machine.hpp"
#include "question.hpp"
#include "text/write_file.hpp"

#include <fabricost/answers/constants.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/hardware/parameters.hpp>
#include <fabricost/parameters/related.hpp>
#include <fabricost/plan/evaluation/calibrate.hpp>
#include <fabricost/probes/answers/this_machine.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <filesystem>
#include <map>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {

void add_evaluation(py::module_& module);  // plan/evaluation.cpp: questions that fabricost.evaluation fits constants to

namespace {

/// A fit with what Python makes of it.
struct Fit : CalibrationAnswer {
  std::optional<Machine> machine;
  ValidationAnswer validation;
};

/// Warns of points that were set aside because they cannot be what they say; warm-up and the like are usual.
void warn_of_impossible(const std::vector<SetAside>& points) {
  std::map<Doubt, int> counts;
  for (const SetAside& one : points)
    if (one.doubt == Doubt::above_the_wires || one.doubt == Doubt::impossible_run || one.doubt == Doubt::other_unit) ++counts[one.doubt];
  for (const auto& [doubt, count] : counts) warn(fmt::format("{} set aside: {}", counted(count, "sample"), name(doubt)));
}

using AnyFit = std::variant<Fit, KernelFitAnswer, KernelStackAnswer>;

[[nodiscard]] AnyFit with_machine(FilesAnswer found) {
  return std::visit(
      [](auto one) -> AnyFit {
        if constexpr (std::same_as<decltype(one), CalibrationAnswer>) {
          Fit out{std::move(one), {}, {}};
          for (const std::string& warning : out.warnings) warn(warning);
          warn_of_impossible(out.made.set_aside);
          if (!out.system.extends.empty()) out.machine = loaded(out.system);
          const py::gil_scoped_release released;
          out.validation = validated(out);
          return out;
        } else {
          return one;
        }
      },
      std::move(found));
}

[[nodiscard]] py::list dicts_of(const auto& rows) {
  py::list out;
  for (const auto& row : rows) out.append(dict_of(row));
  return out;
}

/// save(folder).
template <class Answer>
PyClass<Answer> add_files(PyClass<Answer> type) {
  type.def(
      "save",
      [](const Answer& fit, const py::object& folder) {
        for (const auto& [file, text] : fit.files(today())) {
          const std::filesystem::path path = std::filesystem::path{path_of(folder, "folder")} / file;
          std::filesystem::create_directories(path.parent_path());
          write_fitted(path.string(), text, "folder");
        }
      },
      "folder"_a, "save(self, folder)\n--\n\nWrites what was fitted below that folder, as it lies in data/.");
  return type;
}

void add_fit(py::module_& module) {
  add_copies(PyClass<FitMean>(module, "FitMean", "The mean of a fit's sets; for constants= of validate and calibrate."));
  auto constant = add_answer<ConstantAnswer>(module, "Constant", "One constant as it was fitted.");
  constant.def("__repr__", [](const ConstantAnswer& c) {
    return fmt::format("{} {}: {:.4g}{}{} +- {:.1f} %{}", c.set, c.name, c.value, c.unit.empty() ? "" : " ", c.unit, 100 * c.relative_error,
                       c.determined ? "" : ", not determined");
  });
  add_answer<ResidualAnswer>(module, "Residual", "How far the points that ran alike are from the fit.");
  add_answer<FittedSet>(module, "FittedSet", "Constants that lie in one file.").def("__repr__", [](const FittedSet& s) {
    return fmt::format("<FittedSet {}: {} points, median error {:.2f} %>", s.name, s.points, 100 * s.median_error);
  });
  add_copies(add_report<FitAnswer>(module, "CollectivesFit", "Constants fitted to the collectives of one machine."));
  auto fit = add_report<CalibrationAnswer, Fit>(
      module, "Fit", "Constants fitted to measurements of machines. Errors are shares: |predicted / measured - 1|.");
  add_copies(fit);
  fit.property(
         "system",
         [](const Fit& f) {
           if (!f.machine)
             throw RequestError("several machines were fitted together: save(folder), and load the one you mean with a file of it");
           return *f.machine;
         },
         "The machine with the fitted constants: for predict, or to save. RequestError where several were fitted together.")
      .property(
          "worst_error", [](const Fit& f) { return f.validation.worst_error(); }, "Largest error of `validation`.")
      .property(
          "mean",
          [](const Fit& f) {
            return FitMean{std::make_shared<const Calibration>(f.made), false};
          },
          "What stands for a machine whose GPUs were not fitted: the geometric mean of the sets inside a node; for constants=.")
      .property(
          "mean_transport",
          [](const Fit& f) {
            return FitMean{std::make_shared<const Calibration>(f.made), true};
          },
          "What stands for a network whose transport was not fitted: the mean of those of its kind; for constants=.")
      .property("validation", &Fit::validation, "The samples (without those set aside) predicted with the fitted machine.")
      .def(
          "save",
          [](const Fit& f, const py::object& path) {
            const std::string file = path_of(path, "path");
            if (f.machine) return write_file(file, f.yaml(calibration_name(file), today()), "path");
            for (const auto& [name, text] : f.files(today())) write_fitted((std::filesystem::path{file} / name).string(), text, "path");
          },
          "path"_a,
          "save(self, path)\n--\n\nWrites the constants as a calibration file, for load_system(calibration=...) and --calibration of the "
          "command; of several\nmachines a file for each set, into that folder.")
      .def(
          "to_yaml", [](const Fit& f) { return f.yaml("fitted", today()); }, "to_yaml(self)\n--\n\nThe text save() writes.")
      .def(
          "to_pandas", [](const Fit& f) { return frame_of(dicts_of(f.constants())); },
          "to_pandas(self)\n--\n\nA pandas.DataFrame with a row for each constant.")
      .def("__repr__", [](const Fit& f) {
        return fmt::format("<Fit of {}: {} points, median error {:.2f} -> {:.2f} %, {} of {} constants determined>",
                           f.made.system.empty() ? "several machines" : f.made.system, f.points, f.median_before, f.median_after,
                           f.determined, f.constant_count);
      });
}

void add_fits_of_tables(py::module_& module) {
  add_copies(add_files(add_report<KernelFitAnswer>(module, "KernelFit",
                                                   "Constants of kernels that are no library's: engines' all-reduces, expert exchange.")));
  add_answer<KernelFit>(module, "KernelRoofline", "What kernels of one kind and precision reach on a GPU.");
  auto stack = add_files(add_report<KernelStackAnswer>(module, "KernelStack", "A training stack that holds one's own kernels."));
  add_copies(stack);
  stack.def("__repr__", [](const KernelStackAnswer& s) {
    return fmt::format("<KernelStack in the recipe of {}: {} times, median error of rows left out {:.1f} %>", s.recipe, s.rows(), 100 * s.median_error());
  });
  stack.def("to_yaml", [](const KernelStackAnswer& fit) { return fit.yaml(fit.name, today()); },
            "to_yaml(self)\n--\n\nThe stack's file, for stack= of plan and --stack of the command.");
}

void add_this_machine(py::module_& module) {
  using M = MachineAnswer;
  constexpr const char* dicts = "list[dict[str, Any]]";
  auto type = add_report<M>(module, "ThisMachine", "A machine as it was measured, beside the stock system it is like.");
  add_copies(type);
  type.property(
          "system", [](const M& m) { return loaded(m.made.system); }, "The machine with what was measured: for predict, or to save.")
      .property(
          "figures", [](const M& m) { return dicts_of(m.figures()); },
          "One dict for each rate and latency: tier, what, unit, measured, datasheet, stock (None: there is none), points, "
          "smallest and largest size in bytes.",
          dicts)
      .property(
          "findings", [](const M& m) { return dicts_of(m.findings()); },
          "What sets it apart, likeliest first: dicts of cause, confidence, evidence, remedy.", dicts)
      .def(
          "to_pandas", [](const M& m) { return frame_of(dicts_of(m.figures())); },
          "to_pandas(self)\n--\n\nA pandas.DataFrame with a row for each of `figures`.")
      .def(
          "to_yaml", [](const M& m) { return this_machine_yaml(m.made); }, "to_yaml(self)\n--\n\nThe text save() writes.")
      .saves(
          "save", [](const M& m) { return this_machine_yaml(m.made); },
          "save(self, path)\n--\n\nWrites a system file, for load_system and --system of the command.")
      .def("__repr__", [](const M& m) {
        return fmt::format("<ThisMachine {}, beside {}: {} figures, {}>", m.title(), m.stock(), m.made.figures.size(),
                           counted(static_cast<double>(m.made.findings.size()), "finding"));
      });
}

void add_constants(py::module_& module) {
  using A = ConstantsAnswer;
  add_answer<ListedConstant>(module, "ListedConstant", "One constant: its value, and how a fit treats it.")
      .def("__repr__", [](const ListedConstant& c) { return fmt::format("{} {}: {:.4g}, {}", c.set, c.name, c.value, c.fit); });
  add_answer<ListedSet>(module, "ListedSet", "A set of constants, and where its values are from.").def("__repr__", [](const ListedSet& s) {
    return fmt::format("{}: {} ({})", s.name, s.calibration, s.basis);
  });
  add_answer_of_rows<A>(module, "Constants", "The constants of the model: a row each. Made by constants.", &A::constants)
      .def("__repr__", [](const A& a) {
        return fmt::format("<Constants of {}: {}>", a.system.empty() ? "no machine" : a.system,
                           counted(static_cast<double>(a.constants.size()), "constant"));
      });
  add_question<ConstantsRequest>(module, "constants", 1,
                             R"(Every constant of the model: its value on a machine, its value where nothing was measured, and how a fit
treats it: Constants.)",
                             R"(>>> import fabricost as fc
>>> [c.fit for c in fc.constants("dgx-h100", only="scale_up") if c.name in ("ll.hop", "ll.reduce")]
['own', 'held']
)");
}

}  // namespace

void FitMean::apply(System& system) const {
  if (between_nodes)
    apply_transport_mean(system, *of);
  else
    apply_mean(*of, system);
}

/// `calibrate` with what a fit starts from, which no file states.
struct CalibrateCall : CalibrateFilesRequest {
  FittedConstants constants, prior_constants;

  static RequestTable<CalibrateCall> fields() {
    using C = CalibrateCall;
    return {CalibrateFilesRequest::fields(),
            asks(&C::constants, "constants", "", "", "What machines have instead of what is shipped, as in validate"),
            asks(&C::prior_constants, "prior", "", "", "What a joint fit takes for a machine before its points, as constants"),
            asks(&C::starts, "starts", "", Amount::count, {0, 100}, "",
                 "Minimisations from scattered points; 0: three of a joint fit, else one")};
  }
};
[[nodiscard]] static FilesAnswer answer(const CalibrateCall& call) {
  CalibrateFilesRequest request = call;
  request.adjust = call.constants.applied();
  if (const auto prior = call.prior_constants.applied())
    request.prior = [prior](Constants& constants) {
      System machine;
      prior(machine);
      constants = machine.constants;
    };
  return plan::answer(request);
}

void add_fitting(py::module_& module) {
  add_fit(module);
  add_fits_of_tables(module);
  add_this_machine(module);
  add_evaluation(module);
  add_question<CalibrateCall>(
      module, "calibrate", 2,
      R"(Fits the constants a machine is priced with to measurements of it: least squares on log(predicted / measured) with a robust
loss and priors from machines like it, so that a few points are enough. A Fit; fit.system predicts with what was found. Engines'
all-reduces (only="custom") and tables of expert exchange give a KernelFit, of kernels a KernelStack.

samples: as in validate. system: None fits all machines of the samples together.)",
      R"(Raises RequestError when no point is left to fit, SpecError for faulty files; warns (FabricostWarning) of all that speaks against
fitting these samples, as `warnings` of the Fit lists it.

>>> import fabricost as fc, numpy as np
>>> system = fc.load_system("dgx-h100")
>>> sizes = 2.0 ** np.arange(12, 31, 3)
>>> truth = fc.predict(system, fc.AllReduce(sizes)).seconds * 1.1   # a machine that is 10 % slower
>>> fit = fc.calibrate(system, {"bytes": sizes, "seconds": truth, "ranks": np.full(7, 8)})
>>> fit.points, bool(fit.median_error < fit.median_error_before)
(7, True)
)",
      &with_machine);
  add_question<CalibrateStackRequest>(
      module, "calibrate_stack", 2,
      R"(A training stack from times of one's own kernels, a KernelStack: for each GPU, kind (gemm, experts, attention, attention_backward,
decode, optimizer, memory) and precision a roofline, with its errors on rows that it was not fitted to and the spread of times around it.

samples: tables with the columns of ops.csv. stack: whose recipe the kernels run in; default nemo.)",
      R"(Raises RequestError when no kernel has five times, SpecError for faulty files.)");
  add_question<CalibrateMachineRequest>(
      module, "calibrate_machine", 1,
      R"(This very machine from what `fabricost measure` wrote: a stock system with the measured rates, latencies and collectives, and what
sets the two apart, a ThisMachine.)",
      "Raises SpecError with file, line, column and remedy for faulty files, RequestError when no stock system is known.");
  add_constants(module);
}

}  // namespace fabricost::python

namespace fabricost::core {

std::function<void(System&)> FittedConstants::applied() const {
  if (each.empty()) return {};
  return [all = each](System& system) {
    for (const auto& one : all) one(system);
  };
}

/// The values of a dict: "host_launch" of the machine, or "SET.NAME" as fc.constants lists them.
static std::function<void(System&)> given_values(const py::dict& given, std::string_view argument) {
  std::vector<std::pair<const Parameter*, double>> values;
  std::optional<double> host_launch;
  for (const auto& [key, value] : given) {
    const std::string name{python::text_of(key, argument)};
    const double number = python::real(py::reinterpret_borrow<py::object>(value), name, 0, 1e18);
    if (name == "host_launch") {
      host_launch = number;
      continue;
    }
    const Parameter* found = nullptr;
    for (const auto set : {ConstantSet::scale_up, ConstantSet::pcie, ConstantSet::transport, ConstantSet::custom, ConstantSet::moe})
      for (const Parameter& one : parameters_of(set))
        if (name == fmt::format("{}.{}", core::name(set), one.key)) found = &one;
    if (found == nullptr)
      throw RequestError(fmt::format("{}: \"{}\" is no constant; constants() lists them as SET and NAME", argument, name));
    values.emplace_back(found, number);
  }
  return [=](System& system) {
    for (const auto& [parameter, value] : values) parameter->of(system.constants) = value;
    if (host_launch) system.host_launch.value = Time::from_value(*host_launch);
  };
}

/// Constants of kernels: a machine's own generation's where one of the fits has them, else what relatives make of them.
static void apply_kernel_fits(System& system, const std::vector<CalibratedSet>& sets) {
  std::vector<Constants> related;
  const CalibratedSet* own = nullptr;
  for (const CalibratedSet& one : sets) {
    if (one.generation == system.gpu.generation) own = &one;
    related.push_back(one.constants);
  }
  const auto measured = [](const CalibratedSet& s, const Parameter& p) {
    return std::any_of(s.fitted.begin(), s.fitted.end(), [&](const FittedConstant& f) { return f.key == p.key; });
  };
  const ConstantSet set = sets.front().set;
  take_from_related(set, system.constants, related,
                    [&](std::size_t r, const Parameter& p) { return &sets[r] != own && measured(sets[r], p); });
  if (own == nullptr) return;
  for (const Parameter& p : parameters_of(set))
    if (measured(*own, p)) p.of(system.constants) = p.value(own->constants);
}

void from_object(py::handle given, std::string_view name, const Range&, FittedConstants& out) {
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given))
    python::throw_type(name, "a list of fits, means of fits and dicts", given);
  std::vector<CalibratedSet> kernels;
  for (const py::handle one : given) {
    if (const auto* const fit = python::held<python::Fit>(one))
      out.each.emplace_back(
          [fitted = std::make_shared<const Calibration>(fit->made)](System& system) { apply_calibration(system, *fitted); });
    else if (const auto* const mean = python::held<python::FitMean>(one))
      out.each.emplace_back([mean = *mean](System& system) { mean.apply(system); });
    else if (const auto* const fitted = python::held<fabricost::plan::KernelFitAnswer>(one))
      kernels.insert(kernels.end(), fitted->made.sets.begin(), fitted->made.sets.end());
    else if (py::isinstance<py::dict>(one))
      out.each.push_back(given_values(py::reinterpret_borrow<py::dict>(one), name));
    else
      python::throw_type(name, "fits, means of fits and dicts", one);
  }
  if (!kernels.empty()) out.each.emplace_back([kernels](System& system) { apply_kernel_fits(system, kernels); });
}

}  // namespace fabricost::core
