/// Compares a rate that is asked for with the links and the memory around it. A changed parameter widens the links between GPU and NIC with
/// it (hardware/design_parameters.hpp), which the machine as it is built does not.

#include "answers/need/beyond.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::plan::need {

std::string beyond_of(const System& machine, std::optional<DesignParameter> parameter, double value) {
  const bool outside = parameter == DesignParameter::nic_bandwidth || parameter == DesignParameter::nic_count;
  const Tier* const nic = machine.tier(TierRole::nic);
  if (!outside || nic == nullptr) return {};
  constexpr double giga = 1e9;
  const double rate = parameter == DesignParameter::nic_bandwidth ? value : nic->bandwidth.value.value();
  const double count = parameter == DesignParameter::nic_count ? value : nic->endpoints;
  const double wanted = std::max(rate, rate * count / nic->shared_by / machine.gpus_per_node);
  std::string out;
  const auto compare = [&](double carries, std::string_view what) {
    if (!(carries > 0) || wanted <= carries * (1 + 1e-9)) return;
    out += fmt::format("{}{} of a GPU ({:.4g} GB/s)", out.empty() ? "" : " and the ", what, carries / giga);
  };
  for (const Tier& tier : machine.tiers)
    if (tier.role == TierRole::host || (tier.role == TierRole::c2c && nic->path == NicPath::c2c))
      compare(tier.bandwidth.value.value() * tier.efficiency, tier.role == TierRole::host ? "host link" : "chip-to-chip link");
  compare(machine.gpu.hbm_bandwidth.value.value(), "memory");
  if (out.empty()) return out;
  return fmt::format("{:.4g} GB/s of NICs are more than the {} carries: it would have to be faster, too", wanted / giga, out);
}

}  // namespace fabricost::plan::need
