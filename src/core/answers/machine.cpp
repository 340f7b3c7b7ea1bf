/// \file machine.cpp
/// Lists the machines of the catalogue by the outlines of their files, and the tiers of one machine.

#include <fabricost/answers/machine.hpp>

#include "specs/store.hpp"

#include <fabricost/explain/explain.hpp>
#include <fabricost/specs/load.hpp>

namespace fabricost::core {

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
