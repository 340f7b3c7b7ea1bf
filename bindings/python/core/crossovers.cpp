/// \file crossovers.cpp
/// fc.crossovers: the sizes from which each pair runs, and from which each is fastest.

#include "bindings.hpp"
#include "core/operations.hpp"
#include "question.hpp"

#include <fabricost/answers/sweep.hpp>

namespace py = pybind11;

namespace fabricost::python {
namespace {

struct CrossoversCall : CrossoversRequest {
  GivenOperation given{};

  static constexpr auto by_place = system_and_operation;
  static constexpr auto fields() {
    return tables(CrossoversRequest::fields(),
                  Table{asks(&CrossoversCall::given, "operation", "", "", "An Operation without arrays; its bytes do not matter", true)});
  }
};
[[nodiscard]] CrossoversAnswer answer(const CrossoversCall& call) {
  CrossoversRequest r = call;
  const OperationRequest& of = call.given.operation();
  if (of.ranks || of.nodes) throw RequestError("ranks and nodes of the operation are arrays; give lists: crossovers(..., ranks=[8, 16])");
  const Operation& op = of.scalar;
  r.operation = op.collective;
  r.dtype = op.dtype;
  if (op.collective == Collective::send_recv) r.path = op.path;
  if (r.nodes.values.empty() && op.nodes > 0) r.nodes.values = {op.nodes};
  if (r.ranks.values.empty() && op.ranks > 0) r.ranks.values = {op.ranks};
  return fabricost::core::answer(r);
}

}  // namespace

void add_crossovers(py::module_& module) {
  using A = CrossoversAnswer;
  add_answer<CrossoverAnswer>(module, "Crossover", "What it is from a size on.").def("__repr__", [](const CrossoverAnswer& c) {
    return fmt::format("{} {} from {:.0f} bytes", c.algorithm, c.protocol, c.from.value());
  });
  add_answer<CrossoversAtCount>(module, "CrossoversAtCount", "What runs and what is fastest on so many ranks.")
      .def("__repr__", [](const CrossoversAtCount& c) {
        return fmt::format("{} ranks on {}: {} run, {} are fastest", c.ranks, counted(c.nodes, "node"), c.runs.size(), c.fastest.size());
      });
  add_answer_of_rows<A>(module, "Crossovers", "Sizes at which what runs, and what is fastest, change: a row a count. Made by crossovers.",
                        &A::rows)
      .def("__repr__", [](const A& a) {
        return fmt::format("crossovers of {} ({}) on {}, {}", a.operation, a.dtype, a.system,
                           counted(static_cast<double>(a.rows.size()), "count"));
      });
  add_question<CrossoversCall>(module, "crossovers", 2,
                           R"(For each count from which size what runs, by the library's own choice, and what is fastest: Crossovers.)",
                           R"(>>> import fabricost as fc
>>> row = fc.crossovers("dgx-b200", fc.AllReduce(), sizes=[fc.KiB, fc.GiB])[0]
>>> row.runs[-1].algorithm, row.fastest[0].algorithm
('nvls', 'one_shot')
)");
}

}  // namespace fabricost::python
