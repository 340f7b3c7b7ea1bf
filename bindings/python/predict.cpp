/// \file predict.cpp
/// fc.predict: one question, one answer; a question with arrays, an array of answers.

#include "arguments.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "operations.hpp"
#include "predictions.hpp"

#include <fabricost/predict/predict.hpp>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

[[nodiscard]] py::object predict_asked(const py::object& system, const AskedOperation& op, const py::object& algorithm,
                                       const py::object& protocol, const py::object& rule, const py::object& threads) {
  if (!py::isinstance<System>(system)) throw_type("system", "a System", system);
  const Choice choice = choice_of(algorithm, protocol, rule);
  const int shared_by = count_of(threads, "threads");
  if (op.has_arrays()) return py::cast(predict_all(system, op, choice, shared_by));
  return py::cast(predict(system.cast<const System&>(), op.one(), choice));
}

}  // namespace

void add_predict(py::module_& module) {
  module.def("predict", &predict_asked, "system"_a, "operation"_a, py::kw_only(), "algorithm"_a = py::none(), "protocol"_a = py::none(),
             "choice"_a = "nccl", "threads"_a = 0, R"(predict(system, operation, *, algorithm=None, protocol=None, choice='nccl', threads=0)
--

Time of an operation, a Prediction: seconds = sum of its terms' seconds. With arrays in the operation, Predictions: one for each
element of what the fields broadcast to, as NumPy does it.

algorithm, protocol: force one, as NCCL_ALGO and NCCL_PROTO do.
choice: 'nccl' runs what NCCL's tuner picks, 'fastest' what has the lowest predicted time.

threads: how many share the sizes of an array; 0: one, and as many as pay where there are millions.

What runs between which sizes is worked out once per (ranks, nodes), so a size of an array costs some nanoseconds; other Python
threads run meanwhile. A time of an array is that of its size alone to 1e-9, and to 2e-14 where nothing overlaps.

Raises RequestError when the ranks do not fit the machine, a size is negative or not a number, or nothing allowed can run; ValueError
when the shapes do not broadcast.

>>> import fabricost as fc, numpy as np
>>> system = fc.load_system("dgx-h100")
>>> p = fc.predict(system, fc.AllReduce(bytes=256 * fc.MiB, ranks=64))
>>> p.ranks, p.nodes, p.bottleneck.tier
(64, 8, 'nic')
>>> abs(sum(term.seconds for term in p.terms) / p.seconds - 1) < 1e-12
True
>>> round(p.bus_bytes_per_second * p.seconds / (256 * fc.MiB), 6)  # 2 (n-1)/n
1.96875
>>> grid = fc.predict(system, fc.AllReduce(bytes=2.0 ** np.arange(10, 34), ranks=np.array([8, 16, 64, 512])[:, None]))
>>> grid.seconds.shape, bool((grid.seconds > 0).all())
((4, 24), True)
)");
}

}  // namespace fabricost::python
