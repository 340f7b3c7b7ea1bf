#pragma once
/// \file machine.hpp
/// Machines: those that have a name, and one of them tier by tier, with the source of every number.

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

struct SystemsRequest {
  static constexpr auto fields() { return Table<>{}; }
};

struct ListedSystem {
  std::string name;
  int gpus = 0, domain = 0;
  std::string kind, title, vendor;
  bool cluster = false;
  bool operator==(const ListedSystem&) const = default;

  static constexpr auto fields() {
    using A = ListedSystem;
    return Table{gives(&A::name, "name", "name", "As in `dgx-h100`, for load_system."),
                 gives(&A::gpus, "gpus", "gpus", "GPUs of the whole machine as described."),
                 gives(&A::domain, "domain", "domain", "GPUs that the scale-up tier joins."),
                 gives(&A::kind, "kind", "kind", "Of the scale-up tier, as in `switched`; none: there is none."),
                 gives(&A::title, "", "title", "What a person calls it."),
                 gives(&A::vendor, "vendor", "vendor", "Who makes its GPUs, as in `nvidia`; other: none of those that have a name."),
                 gives(&A::cluster, "", "cluster", "Several nodes, and the network that joins them.")};
  }
};

/// Machines, then clusters, each sorted by name. \throws SpecError for faults in a listed file; a machine is checked when it is loaded
[[nodiscard]] std::vector<ListedSystem> answer(const SystemsRequest& request);

struct ShowRequest {
  Machine system;
  std::string calibration;
  std::vector<std::string> overrides;

  static constexpr auto fields() {
    using R = ShowRequest;
    using enum Amount;
    return Table{asks(&R::system, "system", "SYSTEM", " ", field::ask_system<R>.words, true), field::ask_calibration<R>,
                 field::ask_override<R>};
  }
};

struct ShownTier {
  std::string name, role, kind;
  int endpoints = 0;
  Bandwidth bandwidth{};
  std::optional<Time> latency;
  Bandwidth aggregate{}, bisection{};
  std::optional<double> ratio_to_next;
  std::string source, confidence;
  bool operator==(const ShownTier&) const = default;

  static constexpr auto fields() {
    using A = ShownTier;
    return Table{
        gives(&A::name, "name", "name", "Name within its system, as in `nvlink`."),
        gives(&A::role, "role", "role", "What it is for, as in `scale_up`."),
        gives(&A::kind, "kind", "kind", "Its shape, as in `switch`."),
        gives(&A::endpoints, "endpoints", "endpoints", "How many children it joins."),
        gives(&A::bandwidth, "bandwidth_GBps", "bytes_per_second", "Of one endpoint, one way, byte/s.", in_gigabytes_per_second),
        gives(&A::latency, "latency_us", "latency_seconds", "Of one hop, s; None: not known.", in_microseconds),
        gives(&A::aggregate, "aggregate_GBps", "aggregate_bytes_per_second", "Of all its endpoints, one way, byte/s.",
              in_gigabytes_per_second),
        gives(&A::bisection, "bisection_GBps", "bisection_bytes_per_second", "Between its halves, one way, byte/s.",
              in_gigabytes_per_second),
        gives(&A::ratio_to_next, "ratio_to_next", "ratio_to_next",
              "Its rate over that of the next tier outward, for one GPU; None: there is none."),
        gives(&A::source, "source", "source", "Where bytes_per_second comes from."),
        gives(&A::confidence, "confidence", "confidence", "How far to trust it.")};
  }
};

struct ShowAnswer {
  std::string name, title, gpu;
  Bytes memory{};
  std::string memory_source, memory_confidence;
  int gpus = 0, gpus_per_node = 0, domain = 0;
  std::optional<int> pod{};
  int nodes = 0;
  std::string calibration, basis;
  std::vector<ShownTier> tiers{};
  std::string text;
  bool operator==(const ShowAnswer&) const = default;

  static constexpr auto fields() {
    using A = ShowAnswer;
    return Table{gives(&A::name, "name", "name", "Its name, as in `dgx-h100`."),
                 gives(&A::title, "title", "title", "What a person calls it."),
                 gives(&A::gpu, "gpu", "gpu", "Name of its GPU, as in `h100-sxm`."),
                 gives(&A::memory, "memory_GiB", "memory_bytes", "Of one GPU as its driver shows it, byte.", 1 << 30),
                 gives(&A::memory_source, "memory_source", "memory_source", "Where that comes from."),
                 gives(&A::memory_confidence, "memory_confidence", "memory_confidence", "How far to trust it."),
                 gives(&A::gpus, "gpus", "gpus", "GPUs of the whole machine as described."),
                 gives(&A::gpus_per_node, "gpus_per_node", "gpus_per_node", "GPUs of one node, as nccl-tests counts nodes."),
                 gives(&A::domain, "domain", "domain", "GPUs that the scale-up tier joins."),
                 gives(&A::pod, "pod", "pod", "The most GPUs whose own links join in slices, a torus for each job; None: the domain's."),
                 gives(&A::nodes, "nodes", "nodes", "Nodes of the machine as described."),
                 gives(&A::calibration, "calibration", "calibration", "Name of the calibration it is priced with inside a domain."),
                 gives(&A::basis, "basis", "basis", "What that rests on: calibrated, sibling or datasheet."),
                 gives(&A::tiers, "tiers", "tiers", "From the inside out, memories first, a list of ShownTier."),
                 gives(&A::text, "", "text", "The same with sources, as `fabricost machine` prints it.")};
  }
};

/// \throws Refusal without a machine; SpecError, RequestError as load_system
[[nodiscard]] ShowAnswer answer(const ShowRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::ShowAnswer;
using core::ShowRequest;
using core::SystemsRequest;
}  // namespace fabricost
