/// \file transfer.cpp
/// What moves outside of collectives: storage into GPUs, loads and stores against RDMA, many senders at one port.

#include "asked.hpp"
#include "bindings.hpp"
#include "record.hpp"

#include <fabricost/explain/transfer.hpp>
#include <fabricost/network/load_store.hpp>
#include <fabricost/network/storage.hpp>
#include <fabricost/specs/load.hpp>

#include <limits>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double most_bytes = 1e18, fastest = 1e15, longest_start = 1e6;

struct Stored {
  std::string system{}, sharing{};
  int nodes = 1, gpus = 1;
  double bytes = 0, node_bytes_per_second = 0, direct_seconds = 0, direct_bytes_per_second = 0;
  std::string direct_bottleneck{};
  double through_host_seconds = 0, through_host_bytes_per_second = 0;
  std::string through_host_bottleneck{};
  struct Times {
    TransferTime direct{}, through_host{};
  } made{};  ///< what explain() prints
};

/// Bytes a second of a node's drives, or of its client's ports.
[[nodiscard]] double source_rate(const py::object& client, const py::object& ports, const py::object& rate) {
  if (client.is_none() == rate.is_none())
    throw RequestError(client.is_none() ? "read from where? Add client=\"ethernet-100\" or read_bytes_per_second=50e9"
                                        : "client and read_bytes_per_second exclude each other");
  if (client.is_none()) {
    if (!ports.is_none()) throw RequestError("ports counts the ports of client; leave it out with read_bytes_per_second");
    return real(rate, "read_bytes_per_second", 1, fastest);
  }
  const std::string name = text(client, "client");
  const Link link = load_link(name);
  check_client(link, "client");
  return client_rate(link, whole_or_none(ports, "ports").value_or(1));
}

[[nodiscard]] std::vector<Stored> storage(const py::object& given, const py::object& bytes, const py::object& per_gpu,
                                          const py::object& nodes_given, const py::object& gpus, const py::object& client,
                                          const py::object& ports, const py::object& read_rate, const py::object& store_rate,
                                          const py::object& latency, const py::object& host_memory, const py::object& behind_host) {
  if (bytes.is_none() == per_gpu.is_none())
    throw RequestError(bytes.is_none() ? "how much? Give bytes (all of it) or bytes_per_gpu"
                                       : "bytes and bytes_per_gpu exclude each other");
  const int nodes = whole(nodes_given, "nodes");
  WeightLoading load{.nodes = nodes};
  load.node.storage_rate = source_rate(client, ports, read_rate);
  load.node.gpus = whole_or_none(gpus, "gpus").value_or(0);
  load.node.below_switch = !flag(behind_host, "behind_host");
  load.node.latency = real(latency, "latency_seconds", 0, longest_start);
  load.node.host_memory_rate = real_or_none(host_memory, "host_memory_bytes_per_second", 1, fastest).value_or(0);
  load.store_rate = real_or_none(store_rate, "store_bytes_per_second", 1, fastest).value_or(0);
  const System system = system_from(given);
  const bool each = bytes.is_none();
  const LoadingWays loading =
      loading_ways(system, load, {.bytes = real(each ? per_gpu : bytes, each ? "bytes_per_gpu" : "bytes", 0, most_bytes), .per_gpu = each});
  std::vector<Stored> out;
  for (const auto& [sharing, direct, bounced] : loading.ways)
    out.push_back({system.name,
                   std::string{name(sharing)},
                   nodes,
                   loading.gpus,
                   loading.bytes,
                   load.node.storage_rate,
                   direct.seconds,
                   direct.rate,
                   std::string{direct.bottleneck.view()},
                   bounced.seconds,
                   bounced.rate,
                   std::string{bounced.bottleneck.view()},
                   {direct, bounced}});
  return out;
}

void add_storage(py::module_& module) {
  using S = Stored;
  add_record<S>(
      module, "StorageTransfer", "One way of filling GPUs from storage, direct and through the host. Made by transfer_storage.",
      field("system", &S::system, "Name of the machine."),
      field("sharing", &S::sharing, "every_node reads all, each by_part reads its part, or its part is then gathered over the network."),
      field("nodes", &S::nodes, "Nodes that load."), field("gpus", &S::gpus, "GPUs that load."),
      field("bytes", &S::bytes, "All of the weights."),
      field("node_bytes_per_second", &S::node_bytes_per_second, "What a node's drives or client ports deliver, byte/s."),
      field("direct_seconds", &S::direct_seconds, "With GPUDirect Storage, s: latency + bytes / slowest part."),
      field("direct_bytes_per_second", &S::direct_bytes_per_second, "Of the slowest part, byte/s."),
      field("direct_bottleneck", &S::direct_bottleneck, "Which part that is."),
      field("through_host_seconds", &S::through_host_seconds, "Through a buffer in host memory, s."),
      field("through_host_bytes_per_second", &S::through_host_bytes_per_second, "Of the slowest part, byte/s."),
      field("through_host_bottleneck", &S::through_host_bottleneck, "Which part that is."))
      .def(
          "explain",
          [](const S& s) { return "  direct\n" + explain(s.made.direct) + "  through the host\n" + explain(s.made.through_host); },
          "explain(self)\n--\n\nBoth times with the parts on the way and their rates, as text.")
      .def("__repr__", [](const S& s) {
        return fmt::format("{}: {:.4g} s direct ({}), {:.4g} s through the host ({})", s.sharing, s.direct_seconds, s.direct_bottleneck,
                           s.through_host_seconds, s.through_host_bottleneck);
      });
  const py::none none;
  module.def("transfer_storage", &storage, "system"_a, py::kw_only(), "bytes"_a = none, "bytes_per_gpu"_a = none, "nodes"_a = 1,
             "gpus"_a = none, "client"_a = none, "ports"_a = none, "read_bytes_per_second"_a = none, "store_bytes_per_second"_a = none,
             "latency_seconds"_a = 0.0, "host_memory_bytes_per_second"_a = none, "behind_host"_a = false,
             R"(transfer_storage(system, *, bytes=None, bytes_per_gpu=None, nodes=1, gpus=None, client=None, ports=None,
    read_bytes_per_second=None, store_bytes_per_second=None, latency_seconds=0.0, host_memory_bytes_per_second=None, behind_host=False)
--

From storage into the GPUs of one node or many: a list of StorageTransfer, one for each way of sharing the weights.

bytes of all weights, or bytes_per_gpu. gpus: of a node that read, default all.
Read by client, a link as ethernet-100, with so many ports; or at read_bytes_per_second, what a node's drives deliver.
store_bytes_per_second: what the store gives all nodes together. latency_seconds: until the first byte.
host_memory_bytes_per_second: reads and writes of a node's memory. behind_host: drives or ports do not hang on the GPUs' switches.

direct = min(storage, GPUs' own links); through the host also ports to the processor and host memory / 2.

>>> import fabricost as fc
>>> every, part, gathered = fc.transfer_storage("dgx-h100", bytes=810e9, nodes=16, client="ethernet-100")
>>> part.sharing, every.direct_seconds / part.direct_seconds
('by_part', 16.0)
)");
}

struct Accessed {
  std::string system{}, tier{};
  double in_flight_bytes = 0, store_until_bytes = 0, load_until_bytes = 0;
  std::vector<double> bytes{}, store_seconds{}, load_seconds{}, rdma_seconds{};
  AccessLines made{};  ///< not a field of the class in Python: what explain() prints
};

/// Numbers of bytes, one or many; default those between a word and what a warp moves at once.
[[nodiscard]] std::vector<double> sizes_of(const py::object& given) {
  if (given.is_none()) {
    std::vector<double> out;
    for (double size = 64; size <= 65536; size *= 2) out.push_back(size);
    return out;
  }
  if (PyNumber_Check(given.ptr()) != 0 && numpy().attr("ndim")(given).cast<int>() == 0) return {real(given, "bytes", 0, most_bytes)};
  return reals(given, "bytes", 0, most_bytes);
}

[[nodiscard]] Accessed access(const py::object& given, const py::object& bytes, const py::object& warps, const py::object& in_flight,
                              const py::object& hops, const py::object& start) {
  if (!warps.is_none() && !in_flight.is_none()) throw RequestError("warps and in_flight_bytes exclude each other");
  Accessed out;
  out.bytes = sizes_of(bytes);
  const auto window = real_or_none(in_flight, "in_flight_bytes", 0, unbounded);
  if (window && !(*window > 0)) throw RequestError("in_flight_bytes: above zero, or float(\"inf\")");
  const int warps_given = whole_or_none(warps, "warps").value_or(1), hops_given = whole_or_none(hops, "hops").value_or(0);
  const System system = system_from(given);
  const bool dma = warps.is_none() && copies_by_dma(system);
  out.in_flight_bytes = window.value_or(dma ? unbounded : warps_given * warp_window);
  const AccessLines lines = access_lines(system, out.in_flight_bytes, hops_given, real(start, "start_seconds", 0, longest_start));
  out.system = system.name;
  out.tier = system.tier(TierRole::scale_up)->name.view();
  out.store_until_bytes = lines.stores_until;
  out.load_until_bytes = lines.loads_until;
  out.made = lines;
  for (const double size : out.bytes) {
    out.store_seconds.push_back(lines.store(size));
    out.load_seconds.push_back(lines.load(size));
    out.rdma_seconds.push_back(lines.rdma(size));
  }
  return out;
}

void add_access(py::module_& module) {
  using A = Accessed;
  add_record<A>(module, "AccessTransfer", "Loads and stores over the scale-up tier beside RDMA messages. Made by transfer_access.",
                field("system", &A::system, "Name of the machine."), field("tier", &A::tier, "Name of its scale-up tier."),
                field("in_flight_bytes", &A::in_flight_bytes, "On their way at once; infinity for DMA engines."),
                field("store_until_bytes", &A::store_until_bytes, "Up to this size stores are faster than RDMA; infinity: at every size."),
                field("load_until_bytes", &A::load_until_bytes, "The same of loads."), field("bytes", &A::bytes, "Sizes."),
                field("store_seconds", &A::store_seconds, "Posted, one way, s: latency x hops + bytes / rate."),
                field("load_seconds", &A::load_seconds, "There and back, s."),
                field("rdma_seconds", &A::rdma_seconds, "One message, end to end, s."))
      .def(
          "explain", [](const A& a) { return explain(a.made); },
          "explain(self)\n--\n\nThe three lines start + s / rate, and where they cross, as text.")
      .def("__repr__", [](const A& a) {
        return fmt::format("over {} of {}: stores faster than RDMA up to {:.6g} B, loads up to {:.6g} B", a.tier, a.system,
                           a.store_until_bytes, a.load_until_bytes);
      });
  const py::none none;
  module.def("transfer_access", &access, "system"_a, py::kw_only(), "bytes"_a = none, "warps"_a = none, "in_flight_bytes"_a = none,
             "hops"_a = none, "start_seconds"_a = 0.0,
             R"(transfer_access(system, *, bytes=None, warps=None, in_flight_bytes=None, hops=None, start_seconds=0.0)
--

Loads and stores of a GPU's threads (or a chip's DMA) over the scale-up tier against an RDMA message, an AccessTransfer.

bytes: sizes, default 64 B to 64 KiB. warps: that load or store, 2 KiB in flight each, default 1; or in_flight_bytes, infinity for DMA.
hops: between the two, on a torus. start_seconds: what posting an RDMA message adds.

rate = min(link, in flight / (2 x latency)) (Little's law).

>>> import fabricost as fc
>>> a = fc.transfer_access("dgx-h100")
>>> a.load_seconds[0] < a.rdma_seconds[0], a.load_until_bytes < a.store_until_bytes
(True, True)
)");
}

struct Met {
  std::string system{};
  int senders = 1;
  double bytes = 0, alone_seconds = 0, seconds = 0, bytes_per_second = 0;
  fabricost::Incast made{};  ///< not a field of the class in Python: what explain() prints
};

[[nodiscard]] Met incast(const py::object& given, const py::object& senders, const py::object& bytes, const py::object& start) {
  needed(senders, "senders", "senders=8");
  needed(bytes, "bytes", "bytes=2**20 of each sender");
  Met out{.system = {}, .senders = whole(senders, "senders"), .bytes = real(bytes, "bytes", 0, most_bytes)};
  const System system = system_from(given);
  const fabricost::Incast met = fabricost::incast(system, out.senders, out.bytes, real(start, "start_seconds", 0, longest_start));
  out.system = system.name;
  out.bytes_per_second = met.rate;
  out.alone_seconds = met.alone;
  out.seconds = met.seconds;
  out.made = met;
  return out;
}

void add_incast(py::module_& module) {
  using M = Met;
  add_record<M>(module, "IncastTransfer", "Many senders, one port. Made by transfer_incast.",
                field("system", &M::system, "Name of the machine."), field("senders", &M::senders, "How many write at once."),
                field("bytes", &M::bytes, "Of each sender."), field("alone_seconds", &M::alone_seconds, "One alone, s."),
                field("seconds", &M::seconds, "All at once, s."),
                field("bytes_per_second", &M::bytes_per_second, "Of each then, byte/s: the port's rate / senders."))
      .def(
          "explain", [](const M& m) { return explain(m.made); },
          "explain(self)\n--\n\nBoth times with the numbers they are made of, as text.")
      .def("__repr__", [](const M& m) {
        return fmt::format("{} senders: {:.4g} us, {:.4g} us alone", m.senders, m.seconds * 1e6, m.alone_seconds * 1e6);
      });
  const py::none none;
  module.def("transfer_incast", &incast, "system"_a, py::kw_only(), "senders"_a = none, "bytes"_a = none, "start_seconds"_a = 0.0,
             R"(transfer_incast(system, *, senders, bytes, start_seconds=0.0)
--

Many senders at one port of the machine's NICs, an IncastTransfer: each gets the port's rate / senders.

>>> import fabricost as fc
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
