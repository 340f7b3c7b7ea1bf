/// \file models.cpp
/// Identifies a GPU of data/gpus by clues, the most reliable first: marketing name, PCI id, cloud instance,
/// architecture, direct links, PCIe. The files of data/gpus list the clues (`identity:`). If data/ does not
/// contain the GPU, a related one is used, and the reason says so.

#include "readings/topology/models.hpp"

#include "specs/parts/gpu_index.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe {

namespace {

[[nodiscard]] std::string stand_in(const KnownClue& found) {
  return found.stands_for.empty() ? "" : fmt::format("; stands in for {}, which data/gpus does not have", found.stands_for);
}

/// The properties that a topology shows besides names.
struct ShownModel {
  int links = -1;  ///< of one GPU; -1: unknown
  int gpus = 0, sockets = 0, per_processor = 0;
  bool switched = false, pairs = false;

  explicit ShownModel(const DescribedTopology& t)
      : links(t.links_stated ? t.links_per_gpu() : -1), gpus(static_cast<int>(t.gpus.size())), sockets(t.sockets), switched(t.switched) {
    if (std::any_of(t.gpus.begin(), t.gpus.end(), [](const TopologyDevice& g) { return g.own_memory_node; }))
      per_processor = sockets * 2 == gpus ? 2 : 1;
    pairs = links > 0 &&
            std::any_of(t.links.begin(), t.links.end(), [&](const auto& row) { return std::count(row.begin(), row.end(), links) == 1; });
  }
  [[nodiscard]] bool fits(const GpuClue& clue) const {
    const auto same = [](int wanted, int seen) { return wanted == 0 || wanted == seen; };
    const bool wired = clue.wiring == GpuClue::Wiring::any || (clue.wiring == GpuClue::Wiring::pairs ? pairs : !switched);
    return wired && same(clue.gpus, gpus) && same(clue.sockets, sockets) && same(clue.per_processor, per_processor) &&
           (!clue.links || (links >= clue.links->first && links <= clue.links->second));
  }
};

/// The matching clue accepted by `counts` with the most conditions; nullptr: none.
template <class Counts>
[[nodiscard]] const GpuClue* narrowest(const GpuIdentities& known, const ShownModel& shown, Counts&& counts) {
  const GpuClue* best = nullptr;
  for (const GpuClue& clue : known.clues())
    if (counts(clue) && shown.fits(clue) && (best == nullptr || clue.conditions() > best->conditions())) best = &clue;
  return best;
}

[[nodiscard]] ModelGuess taken(const GpuClue* clue, const std::string& seen) {
  if (clue == nullptr)
    throw RequestError(fmt::format("{}: no GPU of data/gpus is taken for that; give the one it is a clue (docs/spec-format.md)", seen));
  return {clue->gpu, seen + clue->remark};
}

/// The last value of an ascending scale that `at` reaches, else the first.
template <class Value>
[[nodiscard]] int step_below(const GpuIdentities& known, std::string_view vendor, int at, Value&& value) {
  int below = 0, lowest = 0;
  for (const GpuClue& clue : known.clues()) {
    const int step = value(clue);
    if (step == 0 || (!vendor.empty() && clue.vendor != vendor)) continue;
    if (step <= at) below = std::max(below, step);
    lowest = lowest == 0 ? step : std::min(lowest, step);
  }
  return below > 0 ? below : lowest;
}

[[nodiscard]] ModelGuess by_architecture(const GpuIdentities& known, const DescribedTopology& t, int version) {
  const bool amd = t.vendor == "amd";
  const std::string_view vendor = amd ? "amd" : "nvidia";
  const std::string seen =
      amd ? fmt::format("gfx version {}", version == 910 ? "90a" : std::to_string(version)) : fmt::format("SM version {}", version);
  const int arch = step_below(known, vendor, version, [](const GpuClue& clue) { return clue.arch; });
  return taken(narrowest(known, ShownModel{t}, [&](const GpuClue& clue) { return clue.arch == arch && clue.vendor == vendor; }), seen);
}

[[nodiscard]] ModelGuess by_xgmi(const GpuIdentities& known, const DescribedTopology& t) {
  ShownModel shown{t};
  shown.links = t.links_per_gpu();
  const std::string seen = shown.links <= 0 ? "no XGMI"
                           : shown.links == shown.gpus - 1 && shown.gpus > 2
                               ? fmt::format("{} GPUs in a full mesh of XGMI", shown.gpus)
                               : fmt::format("XGMI to {} others of {}", shown.links, shown.gpus);
  return taken(narrowest(known, shown, [](const GpuClue& clue) { return clue.arch == 0 && clue.links && clue.vendor == "amd"; }), seen);
}

[[nodiscard]] ModelGuess by_nvlinks(const GpuIdentities& known, const DescribedTopology& t) {
  ShownModel shown{t};
  shown.links = t.links_per_gpu();
  const std::string seen = shown.links > 0 || shown.per_processor > 0
                               ? fmt::format("{} NVLink{} per GPU", shown.links, shown.links == 1 ? "" : "s")
                               : "no NVLinks";
  const GpuClue* found = narrowest(known, shown, [&](const GpuClue& clue) {
    return clue.arch == 0 && clue.vendor == "nvidia" && (shown.per_processor > 0 ? clue.per_processor > 0 : clue.links.has_value());
  });
  if (found != nullptr && shown.links <= 0 && !t.links_stated) return {found->gpu, "nothing in the file says"};
  return taken(found, seen);
}

}  // namespace

ModelGuess guess_model(const DescribedTopology& t) {
  const auto shipped = GpuIdentities::shipped();
  const GpuIdentities& known = *shipped;
  for (const TopologyDevice& gpu : t.gpus)
    if (const KnownClue* found = known.named(gpu.model))
      return {found->gpu, fmt::format("{} is named {}{}", gpu.name, gpu.model, stand_in(*found))};
  for (const TopologyDevice& gpu : t.gpus)
    if (const KnownClue* found = known.with_pci_id(gpu.pci_id))
      return {found->gpu, fmt::format("PCI id {} (pci-ids.ucw.cz){}", gpu.pci_id, stand_in(*found))};
  if (const CloudInstance* found = known.instance(t.instance)) return {found->gpu, fmt::format("{} ({})", found->name, found->source)};
  for (const TopologyDevice& gpu : t.gpus)
    if (gpu.compute > 0) return by_architecture(known, t, gpu.compute);
  if (t.vendor == "amd") return by_xgmi(known, t);
  if (t.links_stated || !(t.pcie_lane_rate > 0)) return by_nvlinks(known, t);
  const int slot = std::max(known.slot_generation(t.pcie_lane_rate), known.slowest_slot());
  const int pcie = step_below(known, "", slot, [](const GpuClue& clue) { return clue.pcie; });
  return taken(narrowest(known, ShownModel{t}, [&](const GpuClue& clue) { return clue.pcie == pcie && pcie > 0; }),
               fmt::format("PCIe {} and nothing else", slot));
}

}  // namespace fabricost::observe
