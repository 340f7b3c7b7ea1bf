/// fc.compare.

#include "bindings.hpp"
#include "question.hpp"
#include "plan/machines.hpp"

#include <answers/job_verdict.hpp>
#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/pictures/compare.hpp>
#include <text/amounts.hpp>

namespace py = pybind11;

namespace fabricost::python {

void add_compare(py::module_& module) {
  add_machines_argument_types();
  using R = ComparedAnswer;
  using C = CompareAnswer;
  add_answer<R>(module, "Compared", "The best one machine makes of a job. Made by compare.").def("__repr__", [](const R& r) {
    if (!r.trouble.empty()) return fmt::format("{}: {}", r.system, r.trouble);
    const auto said = [](const auto& value, double over, const char* unit) {
      return value ? fmt::format(", {:.3g} {}", *value / over, unit) : std::string{};
    };
    return fmt::format("{}: {:.4g} s ({:.3g} to {:.3g} s), {} tokens/s/GPU{}{}{}, {}", r.system, r.time.value(), r.interval.first.value(),
                       r.interval.second.value(), figure(r.tokens_per_second_per_gpu), said(r.dollars_per_million_tokens, 1, "$/Mtoken"),
                       said(r.joules_per_million_tokens, 1e6, "J/token"), said(numbers_in(r.power), 1e6, "MW"), r.layout);
  });
  add_answer_of_rows<C>(module, "Comparison", "Machines at one job, in the order asked: `rows[0]`, `for row in rows`. Made by compare.",
                        &C::rows)
      .def(
          "svg", [](const C& c) { return comparison_svg(c.all, c.title); },
          "svg(self)\n--\n\nThe machines side by side as an SVG document, as `fabricost compare --plot` writes it: times by what takes them, "
          "money, energy\nand power.")
      .def("__repr__", [](const C& c) {
        std::string out = verdict_of(c);
        for (const R& r : c.rows) out += "\n  " + repr_of(r);
        return out;
      });
  add_question<WithProgress<CompareRequest>>(
      module, "compare", 2,
      R"(The best each of several machines makes of one job, side by side: time, tokens, money, power, what binds, a Comparison.

dollars per million tokens = rent (or owning) of all GPUs x 10^6 / tokens/s; joules the same of the site's power.

A machine that cannot do the job says why in its `trouble`. Kinds of price are never mixed: where none is known of all, dollars are None.
prices is a dict by a machine's name, as in {"dgx-h100": 2.5}, prices_file a file (project calls them own_prices and prices). Machines for
which what kernels reach is assumed (`kernels` of the rows) are not ranked with those where it was measured. Whole runs: project.)",
      R"(Raises RequestError when no machine can do the job. Other Python threads run during the searches.

>>> import fabricost as fc
>>> rows = fc.compare(["dgx-h100", "dgx-b200"], "llama3-8b", gpus=16, train=True, global_batch=64)
>>> rows[1].seconds < rows[0].seconds
True
)");
}

}  // namespace fabricost::python
