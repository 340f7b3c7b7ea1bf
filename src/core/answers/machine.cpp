/// Lists the machines of the catalogue by the outlines of their files, and the tiers of one machine.

#include <fabricost/answers/machine.hpp>

#include "specs/store.hpp"

#include <fabricost/explain/explain.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/specs/load.hpp>

namespace fabricost::core {

RequestTable<SystemsRequest> SystemsRequest::fields() { return {}; }

AnswerTable<ListedSystem> ListedSystem::fields() {
  using A = ListedSystem;
  return {gives(&A::name, "name", "name", "As in `dgx-h100`, for load_system."),
          gives(&A::gpus, "gpus", "gpus", "GPUs of the whole machine as described."),
          gives(&A::domain, "domain", "domain", "GPUs that the scale-up tier joins."),
          gives(&A::kind, "kind", "kind", "Of the scale-up tier, as in `switched`; none: there is none."),
          gives(&A::title, "", "title", "What a person calls it."),
          gives(&A::vendor, "vendor", "vendor", "Who makes its GPUs, as in `nvidia`; other: none of those that have a name."),
          gives(&A::cluster, "", "cluster", "Several nodes, and the network that joins them.")};
}

RequestTable<ShowRequest> ShowRequest::fields() {
  using R = ShowRequest;
  using enum Amount;
  return {asks(&R::system, "system", "SYSTEM", " ", field::ask_system<R>.words, true), field::ask_calibration<R>, field::ask_override<R>};
}

AnswerTable<ShownTier> ShownTier::fields() {
  using A = ShownTier;
  return {
      gives(&A::name, "name", "name", "Name within its system, as in `nvlink`."),
      gives(&A::role, "role", "role", "What it is for, as in `scale_up`."),
      gives(&A::kind, "kind", "kind", "Its shape, as in `switch`."),
      gives(&A::endpoints, "endpoints", "endpoints", "How many children it joins."),
      gives(&A::bandwidth, "bandwidth_GBps", "bytes_per_second", "Of one endpoint, one way, byte/s.", in_gigabytes_per_second),
      gives(&A::latency, "latency_us", "latency_seconds", "Of one hop, s; None: not known.", in_microseconds),
      gives(&A::aggregate, "aggregate_GBps", "aggregate_bytes_per_second", "Of all its endpoints, one way, byte/s.",
            in_gigabytes_per_second),
      gives(&A::bisection, "bisection_GBps", "bisection_bytes_per_second", "Between its halves, one way, byte/s.", in_gigabytes_per_second),
      gives(&A::ratio_to_next, "ratio_to_next", "ratio_to_next",
            "Its rate over that of the next tier outward, for one GPU; None: there is none."),
      gives(&A::source, "source", "source", "Where bytes_per_second comes from."),
      gives(&A::confidence, "confidence", "confidence", "How far to trust it.")};
}

AnswerTable<ShowAnswer> ShowAnswer::fields() {
  using A = ShowAnswer;
  return {gives(&A::name, "name", "name", "Its name, as in `dgx-h100`."),
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

std::vector<ListedSystem> answer(const SystemsRequest& /*request*/) {
  std::vector<ListedSystem> out;
  SpecStore library;
  for (const SystemName& one : system_names()) {
    const System system = load_outline(library, one.name);
    const Tier* tier = system.tier(TierRole::scale_up);
    out.push_back({system.name, system.gpus(), system.domain, std::string{tier != nullptr ? name(tier->kind) : "none"}, system.title,
                   system.gpu.vendor, one.cluster});
  }
  return out;
}

namespace {

[[nodiscard]] std::optional<double> if_known(double value) { return value > 0 ? std::optional{value} : std::nullopt; }

}  // namespace

ShowAnswer answer(const ShowRequest& request) {
  if (!request.system) throw Refusal("which machine? fabricost machine lists the names", true);
  const System system = request.system.load(request.overrides, {}, request.calibration);
  const Provenance& memory = system.gpu.memory.provenance;
  ShowAnswer out{.name = system.name,
                 .title = system.title,
                 .gpu = system.gpu.name,
                 .memory = system.memory(),
                 .memory_source = memory.source,
                 .memory_confidence = std::string{name(memory.confidence)},
                 .gpus = system.gpus(),
                 .gpus_per_node = system.gpus_per_node,
                 .domain = system.domain,
                 .pod = system.pod > 0 ? std::optional{system.pod} : std::nullopt,
                 .nodes = system.nodes,
                 .calibration = system.constants.name,
                 .basis = std::string{name(system.constants.basis)},
                 .text = show(system)};
  for (std::size_t i = 0; i < system.tiers.size(); ++i) {
    const Tier& tier = system.tiers[i];
    const Provenance& rate = tier.bandwidth.provenance;
    out.tiers.push_back({.name = std::string{tier.name.view()},
                         .role = std::string{name(tier.role)},
                         .kind = std::string{name(tier.kind)},
                         .endpoints = tier.endpoints,
                         .bandwidth = tier.bandwidth.value,
                         .latency = tier.latency.value > Time{} ? std::optional{tier.latency.value} : std::nullopt,
                         .aggregate = aggregate_of(system, tier),
                         .bisection = bisection_of(system, tier),
                         .ratio_to_next = if_known(ratio_to_next(system, i)),
                         .source = rate.source,
                         .confidence = std::string{name(rate.confidence)}});
  }
  return out;
}

}  // namespace fabricost::core
