/// fc.goodput.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/plan/answers/goodput.hpp>

namespace py = pybind11;

namespace fabricost::python {

void add_goodput(py::module_& module) {
  using S = GoodputAtScale;
  using F = GoodputOfFleet;
  using C = CausePerDay;
  using G = GoodputAnswer;
  add_answer<S>(module, "GoodputAtScale", "Goodput of a job of another size.").def("__repr__", [](const S& s) {
    return fmt::format("{:.0f} GPUs: {:.2f} %", s.gpus, 100 * s.goodput);
  });
  add_answer<F>(module, "GoodputOfFleet", "Goodput of the job if nodes failed as they did elsewhere.").def("__repr__", [](const F& f) {
    return fmt::format("{}: {:.2f} %", f.fleet, 100 * f.goodput);
  });
  add_answer<C>(module, "FailureCause", "One kind of failure.").def("__repr__", [](const C& c) {
    return fmt::format("{} ({}): {:.3g} a day", c.cause, c.part, c.per_day);
  });
  add_answer<G>(module, "Goodput", "What failures and checkpoints leave of a job's time. Made by goodput.").def("__repr__", [](const G& g) { return verdict_of(g); });
  add_question<GoodputRequest>(module, "goodput", 0, R"(What failures and checkpoints leave of a job's time, a Goodput.

kept = tau e^(-d/M) / (M e^(R/M) (e^((tau + C)/M) - 1)), exact for exponential failures (Daly 2006 for d = 0); M = 1 / (nodes x rate)

C is checkpoint_seconds, tau checkpoint_every_seconds, d drain_seconds, R restart_seconds + reload_seconds. Link flaps take
1 - e^-(links x rate x stall) of the time.)",
                           R"(>>> import fabricost as fc
>>> g = fc.goodput(gpus=16384, checkpoint_seconds=30, restart_seconds=600)
>>> round(g.goodput, 2), round(g.best_seconds / 60, 1)
(0.88, 13.3)
>>> parts = g.goodput + g.checkpoints_share + g.lost_share + g.recovery_share + g.waiting_share
>>> round(parts, 9)
1.0
>>> round(fc.goodput(gpus=1024, lost_rails=1, rails=8, network_share=0.7).step_factor, 9)  # 1 + 0.7 x (8/7 - 1)
1.1
)");
}

}  // namespace fabricost::python
