/// fc.transfer_storage, fc.transfer_access, fc.transfer_incast.

#include "answers/job_verdict.hpp"
#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/explain/transfer.hpp>

namespace py = pybind11;

namespace fabricost::python {
namespace {

void add_storage(py::module_& module) {
  add_answer<StorageWay>(module, "StorageTransfer",
                         "One way of filling GPUs from storage, direct and through the host. Made by transfer_storage.")
      .def(
          "explain",
          [](const StorageWay& s) { return "  direct\n" + explain(s.made.direct) + "  through the host\n" + explain(s.made.through_host); },
          "explain(self)\n--\n\nBoth times with the parts on the way and their rates, as text.")
      .def("__repr__", [](const StorageWay& s) {
        return fmt::format("{}: {:.4g} s direct ({}), {:.4g} s through the host ({})", s.sharing, s.direct.value(), s.direct_bottleneck,
                           s.through_host.value(), s.through_host_bottleneck);
      });
  add_question<StorageRequest>(
      module, "transfer_storage", 1,
      R"(From storage into the GPUs of one node or many: a list of StorageTransfer, one for each way of sharing the weights.

direct = min(storage, GPUs' own links); through the host also ports to the processor and host memory / 2.

Give bytes or bytes_per_gpu; and client, a link with so many ports, or read_bytes_per_second.)",
      R"(>>> import fabricost as fc
>>> every, part, gathered = fc.transfer_storage("dgx-h100", bytes=810e9, nodes=16, client="ethernet-100")
>>> part.sharing, every.direct_seconds / part.direct_seconds
('by_part', 16.0)
)",
      [](StorageAnswer answer) { return std::move(answer.ways); });
}

void add_access(py::module_& module) {
  add_answer<AccessAnswer>(module, "AccessTransfer",
                           "Loads and stores over the scale-up tier beside RDMA messages. Made by transfer_access.")
      .def(
          "explain", [](const AccessAnswer& a) { return explain(a.made); },
          "explain(self)\n--\n\nThe three lines start + s / rate, and where they cross, as text.")
      .def("__repr__", [](const AccessAnswer& a) { return verdict_of(a); });
  add_question<AccessRequest>(
      module, "transfer_access", 1,
      R"(Loads and stores of a GPU's threads (or a chip's DMA) over the scale-up tier against an RDMA message, an AccessTransfer.

rate = min(link, in flight / (2 x latency)) (Little's law). Give warps or in_flight_bytes, infinity for DMA.)",
      R"(>>> import fabricost as fc
>>> a = fc.transfer_access("dgx-h100")
>>> a.load_seconds[0] < a.rdma_seconds[0], a.load_until_bytes < a.store_until_bytes
(True, True)
)");
}

void add_incast(py::module_& module) {
  add_answer<IncastAnswer>(module, "IncastTransfer", "Many senders, one port. Made by transfer_incast.")
      .def(
          "explain", [](const IncastAnswer& m) { return explain(m.made); },
          "explain(self)\n--\n\nBoth times with the numbers they are made of, as text.")
      .def("__repr__", [](const IncastAnswer& m) { return verdict_of(m); });
  add_question<IncastRequest>(module, "transfer_incast", 1,
                          R"(Many senders at one port of the machine's NICs, an IncastTransfer: each gets the port's rate / senders.)",
                          R"(>>> import fabricost as fc
>>> met = fc.transfer_incast("dgx-h100", senders=8, bytes=fc.GiB)
>>> 7.9 < met.seconds / met.alone_seconds <= 8
True
)");
}

}  // namespace

void add_transfer(py::module_& module) {
  add_storage(module);
  add_access(module);
  add_incast(module);
}

}  // namespace fabricost::python
