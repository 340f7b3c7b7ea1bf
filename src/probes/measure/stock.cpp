/// Finds the system of data/systems for a driver's GPU name.

#include "measure/stock.hpp"

#include "specs/parts/gpu_index.hpp"

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <optional>
#include <tuple>

namespace fabricost::probes::measure {

StockSystem stock_system(const Machine& machine, int gpus) {
  if (machine.units.empty()) return {"", "the device names no GPU"};
  const Unit& first = machine.units.front();
  for (const Unit& unit : machine.units)
    if (unit.name != first.name) return {"", fmt::format("GPUs of several kinds: {}, {}", first.name, unit.name)};
  const std::string gpu = GpuIdentities::shipped()->gpu_named(first.name);
  if (gpu.empty()) return {"", fmt::format("no shipped system has a GPU called {}", first.name)};
  using Rank = std::tuple<bool, bool, int, std::string>;  // smaller is closer
  std::optional<Rank> best;
  for (const std::string& name : names_in("systems")) {
    const System system = load_system(name, {}, "none", KernelSets::none());
    if (system.gpu.name != gpu) continue;
    const bool joined = system.tier(TierRole::scale_up) != nullptr && system.tier(TierRole::scale_up)->name.view() != "pcie";
    const bool other_links = gpus > 1 && joined != (first.nvlinks > 0);
    const Rank rank{other_links, system.gpus_per_node < gpus, std::abs(system.gpus_per_node - gpus), name};
    if (!best || rank < *best) best = rank;
  }
  if (!best) return {"", fmt::format("no shipped system has a {} ({})", gpu, first.name)};
  return {std::get<3>(*best), fmt::format("{} GPU{} called {}", gpus, gpus == 1 ? "" : "s", first.name)};
}

}  // namespace fabricost::probes::measure
