/// fc.diagnose: compares a run with its machine's prediction and names likely causes of a difference.

#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/explain/assumptions.hpp>

namespace py = pybind11;

namespace fabricost::python {

// their states and causes have names and no way back from them
template <>
inline constexpr bool is_kept_whole<Finding> = true;
template <>
inline constexpr bool is_kept_whole<RuleSeen> = true;
template <>
inline constexpr bool is_kept_whole<Diagnosis> = true;

void add_diagnosis(py::module_& module) {
  add_answer<Difference>(module, "Difference", "What a run does otherwise than one that went well.");
  add_answer<Finding>(module, "Finding", "One likely cause of a slow run.").def("__repr__", [](const Finding& f) {
    return fmt::format("{} ({:.0f} %): {}", name(f.cause), 100 * f.confidence, f.evidence);
  });
  add_answer<NextQuestion>(module, "NextQuestion", "A command that would tell the remaining causes apart.");
  add_answer<RuleSeen>(module, "RuleSeen", "A rule of data/diagnosis that held.");
  add_answer<DiagnosedSize>(module, "_DiagnosedSize", "One size of a log, beside its prediction.");
  using D = Diagnosis;
  add_answer<D>(module, "Diagnosis",
                "Whether a run is what its machine should give, and the likely causes where it is not. Made by diagnose.")
      .property(
          "sizes", [](const D& d) { return record_array(d.sizes); },
          "A structured array with a row for each size of the log: operation, bytes, ranks, nodes, measured_seconds,\n"
          "predicted_seconds, low_seconds, high_seconds, bus_bytes_per_second (measured).",
          records_array)
      .def(
          "to_pandas", [](const D& d) { return frame_of(record_array(d.sizes)); }, "to_pandas(self)\n--\n\nsizes as a pandas.DataFrame.")
      .def("__str__",
           [](const D& d) {
             std::string out = d.verdict;
             for (const Finding& f : d.causes)
               out += fmt::format("\n{} ({:.0f} %)\n  seen: {}\n  try:  {}", name(f.cause), 100 * f.confidence, f.evidence, f.remedy);
             return out;
           })
      .def("__repr__", [](const D& d) {
        std::string out = d.verdict;
        for (const Finding& f : d.causes) out += "\n  " + repr_of(f);
        return out;
      });
  add_question<DiagnoseRequest>(module, "diagnose", 1,
                            R"(Reads a log (nccl-tests tables, messages of NCCL, PyTorch, launchers or the kernel) and says whether the run
failed, and at what, or is what its machine should give: a size counts as slow when its time is above the predicted
interval of nine in ten measurements. A Diagnosis.

expected is a rate, as in '900 GB/s': its direction and unit are read from it.

Raises SpecError with file, line and remedy for a file that is not a log, RequestError for an unknown system
or an expectation that is no rate.)",
                            "");
}

}  // namespace fabricost::python
