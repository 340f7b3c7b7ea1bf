/// Rules about links, memories, clocks and collectives. Each compares measurements with the driver's or datasheet's
/// description of this hardware, or with the stock system's prediction, whose interval decides which ones deviate,
/// and reports nothing that a healthy machine also shows.

#include "machine/figures.hpp"
#include "text/joined.hpp"

#include "validation/machines.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fabricost::probes {

namespace {

namespace limit = policy::findings;

using Found = std::optional<MachineFinding>;

std::string of(Cause cause) { return std::string{name(cause)}; }
std::string rate(double value) { return rate_text(Bandwidth::from_value(value)); }
std::string percent(double part, double whole) { return fmt::format("{:.0f} %", 100 * part / whole); }

/// "GPU 3", "GPUs 0, 1, 4", "all 8 GPUs"
std::string gpus_text(const std::vector<std::size_t>& which, std::size_t all) {
  if (which.size() == all) return all == 1 ? "the GPU" : fmt::format("all {} GPUs", all);
  return fmt::format("GPU{} {}", which.size() == 1 ? "" : "s", joined(which));
}

/// Indices of the GPUs that satisfy `fits`.
template <class Fits>
std::vector<std::size_t> which(const MeasuredMachine& machine, Fits&& fits) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    if (fits(machine.gpus[i])) out.push_back(i);
  return out;
}

const MeasuredFigure* host_copies(const Findings& f) {
  const Tier* host = host_tier(f.stock);
  return host == nullptr ? nullptr : best_rate(f.figures, host->name.view(), {"to the GPU", "from the GPU"});
}

/// Fewer lanes or an older generation than both ends support. Idle links slow down, which copies reveal.
Found narrow_link(const Findings& f) {
  const MeasuredFigure* copies = host_copies(f);
  const auto now = [](const MeasuredGpu& g) { return pcie_rate(g.pcie_generation, g.pcie_lanes); };
  const auto max = [](const MeasuredGpu& g) { return pcie_rate(g.pcie_generation_max, g.pcie_lanes_max); };
  const auto narrow = which(f.machine, [&](const MeasuredGpu& g) {
    const bool idle = copies != nullptr && copies->min > now(g);
    return now(g) > 0 && max(g) > 0 && now(g) < limit::same_link * max(g) && !idle;
  });
  if (narrow.empty()) return std::nullopt;
  const MeasuredGpu& gpu = f.machine.gpus[narrow.front()];
  std::string evidence = fmt::format("{}: the PCIe link runs at {} x{}, {} one way, where both ends can do {} x{}, {}",
                                     gpus_text(narrow, f.machine.gpus.size()), gpu.pcie_generation, gpu.pcie_lanes, rate(now(gpu)),
                                     gpu.pcie_generation_max, gpu.pcie_lanes_max, rate(max(gpu)));
  if (copies != nullptr) evidence += fmt::format("; host copies reach {}", rate(copies->min));
  return MachineFinding{of(Cause::pcie_downgraded), copies != nullptr ? limit::downgraded_copies : limit::downgraded, evidence,
                        "reseat the card, check risers, bifurcation and link speed in the BIOS; lspci -vv: LnkSta against LnkCap"};
}

/// Both ends agree on less than the slot of the stock system.
Found narrow_slot(const Findings& f) {
  const Tier* host = host_tier(f.stock);
  if (host == nullptr || host->name != "pcie") return std::nullopt;
  const double described = host->bandwidth.value.value();
  const auto max = [](const MeasuredGpu& g) { return pcie_rate(g.pcie_generation_max, g.pcie_lanes_max); };
  const auto narrow = which(f.machine, [&](const MeasuredGpu& g) { return max(g) > 0 && max(g) < limit::narrow_slot * described; });
  if (narrow.empty()) return std::nullopt;
  const MeasuredGpu& gpu = f.machine.gpus[narrow.front()];
  return MachineFinding{of(Cause::pcie_downgraded), limit::narrow_slot_weight,
                        fmt::format("{}: slot and card can do no more than PCIe {} x{}, {} one way, where {} has {}",
                                    gpus_text(narrow, f.machine.gpus.size()), gpu.pcie_generation_max, gpu.pcie_lanes_max, rate(max(gpu)),
                                    f.stock.name, rate(described)),
                        "move the card to a slot of the processor with all lanes, or take the slot as it is: name a like machine as the "
                        "stock system"};
}

/// Copies with the host far below the rate of the link in its present state.
Found slow_host(const Findings& f) {
  const Tier* host = host_tier(f.stock);
  const MeasuredFigure* copies = host_copies(f);
  if (host == nullptr || copies == nullptr) return std::nullopt;
  double link = host->bandwidth.value.value();
  for (const MeasuredGpu& g : f.machine.gpus)
    if (const double now = pcie_rate(g.pcie_generation, g.pcie_lanes); now > 0 && host->name == "pcie") link = std::min(link, now);
  const double carries = link * host->efficiency;
  const MeasuredFigure* to = figure(f.figures, host->name.view(), "to the GPU");
  const MeasuredFigure* from = figure(f.figures, host->name.view(), "from the GPU");
  const char* remedy =
      "run on the GPU's own processor (numactl --cpunodebind, --membind); IOMMU off or in pass-through; nvidia-smi topo -m";
  if (copies->value < limit::host_copies * carries)
    return MachineFinding{"host_copies_slow", limit::host_copies_weight,
                          fmt::format("copies with pinned host memory reach {}, {} of the {} that {} leaves after packet headers",
                                      rate(copies->value), percent(copies->value, carries), rate(carries), host->name.view()),
                          remedy};
  if (to != nullptr && from != nullptr && std::min(to->value, from->value) < limit::one_way * std::max(to->value, from->value))
    return MachineFinding{
        "host_copies_slow", limit::one_way_weight,
        fmt::format("copies to the GPU reach {}, from it {}: one direction is held back", rate(to->value), rate(from->value)), remedy};
  return std::nullopt;
}

Found slice(const Findings& f) {
  const auto slices = which(f.machine, [](const MeasuredGpu& g) { return g.mig_instance; });
  if (slices.empty()) return std::nullopt;
  const MeasuredGpu& gpu = f.machine.gpus[slices.front()];
  std::string evidence = fmt::format("{} is a MIG slice", gpu.name);
  if (gpu.multiprocessors > 0 && f.stock.gpu.units > 0) evidence += fmt::format(": {} of {} SMs", gpu.multiprocessors, f.stock.gpu.units);
  if (gpu.memory > 0) evidence += fmt::format(", {:.3g} of {:.3g} GB", gpu.memory * 1e-9, f.stock.gpu.memory.value.value() * 1e-9);
  return MachineFinding{"mig_slice", 1, evidence + "; slices use no NVLink and no peer access",
                        "measure the whole GPU (nvidia-smi -mig 0, which ends all work on it), or plan with slices only"};
}

/// Memory slower than kernels usually reach relative to the datasheet.
Found slow_memory(const Findings& f) {
  const MeasuredFigure* best = best_rate(f.figures, "hbm", {"read", "write", "copy", "scale in place"});
  if (best == nullptr || !(best->datasheet > 0) || f.machine.gpus.front().mig_instance) return std::nullopt;
  if (best->value >= limit::memory * best->datasheet) return std::nullopt;
  const bool checked = f.machine.gpus.front().ecc.value_or(false);
  return MachineFinding{
      "memory_slow", limit::memory_weight,
      fmt::format("memory reaches {}, {} of the datasheet's {}{}", rate(best->value), percent(best->value, best->datasheet),
                  rate(best->datasheet), checked ? "; ECC is on, which costs GDDR cards some 6 %" : ""),
      "memory clock under load (nvidia-smi -q -d CLOCK,PERFORMANCE), remapped rows (-d ROW_REMAPPER), other work on the GPU"};
}

/// One GPU slower than the others in the same probe.
Found one_behind(const Findings& f) {
  const MeasuredFigure* worst = nullptr;
  for (const MeasuredFigure& one : f.figures) {
    if (one.latency || one.slowest.empty() || one.min >= limit::behind * one.value || one.tier == "gpu" || one.tier == "l2") continue;
    if (worst == nullptr || one.min / one.value < worst->min / worst->value) worst = &one;
  }
  if (worst == nullptr) return std::nullopt;
  const bool pair = worst->slowest.find('>') != std::string::npos;
  return MachineFinding{of(Cause::stragglers), limit::behind_weight,
                        fmt::format("{} {}: {} {} reaches {}, the median {}", worst->tier, worst->what, pair ? "pair" : "GPU",
                                    worst->slowest, rate(worst->min), rate(worst->value)),
                        pair ? "nvidia-smi nvlink -s and -e on both; swap the pair's GPUs to see whether the fault moves"
                             : "clocks, temperature, power and remapped rows of that GPU beside the others'; other work on it"};
}

Found links_down(const Findings& f) {
  const Tier* up = f.stock.tier(TierRole::scale_up);
  if (up == nullptr || up->kind == TierKind::host || f.machine.gpus.front().mig_instance) return std::nullopt;
  const auto fewer = which(f.machine, [&](const MeasuredGpu& g) { return g.nvlinks && up->name == "nvlink" && *g.nvlinks < up->links; });
  if (!fewer.empty()) {
    const int active = active_links(f.machine, *up);
    return MachineFinding{of(Cause::nvlink_not_used), limit::links_down_weight,
                          fmt::format("{}: {} of {} NVLinks are active", gpus_text(fewer, f.machine.gpus.size()), active, up->links),
                          "nvidia-smi nvlink -s and -e; fabric manager; reseat bridges; in guests the NVSwitches have to be passed on"};
  }
  const MeasuredFigure* copy = best_rate(f.figures, up->name.view(), {"copy to a peer", "stores to a peer", "loads from a peer"});
  const MeasuredFigure* host = host_copies(f);
  if (copy == nullptr || host == nullptr || copy->value > limit::as_pcie * host->datasheet || copy->datasheet < 2 * host->datasheet)
    return std::nullopt;
  return MachineFinding{of(Cause::nvlink_not_used), limit::as_pcie_weight,
                        fmt::format("copies between GPUs reach {}, no more than PCIe carries ({}), where {} has {}", rate(copy->value),
                                    rate(host->datasheet), up->name.view(), rate(copy->datasheet)),
                        "nvidia-smi topo -p2p w and nvlink -s; peer access, IOMMU and ACS"};
}

/// Pairs without peer access on a machine whose stock system has it.
Found no_peers(const Findings& f) {
  const Tier* up = f.stock.tier(TierRole::scale_up);
  if (up == nullptr || f.machine.peer_access.empty() || f.machine.gpus.front().mig_instance) return std::nullopt;
  if (up->kind == TierKind::host && !up->peer_to_peer) return std::nullopt;  // usual there
  std::size_t without = 0, all = 0;
  std::string first;
  for (std::size_t i = 0; i < f.machine.peer_access.size(); ++i)
    for (std::size_t j = 0; j < f.machine.peer_access[i].size(); ++j) {
      if (i == j) continue;
      ++all;
      if (f.machine.peer_access[i][j]) continue;
      if (without++ == 0) first = fmt::format("{} to {}", i, j);
    }
  if (without == 0) return std::nullopt;
  return MachineFinding{
      of(Cause::no_p2p_shm), limit::no_peers_weight,
      fmt::format("{} of {} pairs of GPUs have no peer access (the first: {}); their copies are staged in host memory", without, all,
                  first),
      "check the driver's peer access (nvidia-smi topo -p2p r), IOMMU and ACS; in containers give all GPUs to each process"};
}

/// Only for a GPU that reports throttling, or whose clock is low but not that of an idle one.
Found held_clocks(const Findings& f) {
  constexpr double idle = 0.5;
  const auto low = which(f.machine, [](const MeasuredGpu& g) {
    if (!(g.clock > 0) || g.clock >= limit::held_clock * g.clock_max) return false;
    return !g.throttled.empty() || g.clock > idle * g.clock_max;
  });
  if (low.empty()) return std::nullopt;
  const MeasuredGpu& gpu = f.machine.gpus[low.front()];
  const std::string why = gpu.throttled.empty() ? "" : fmt::format(", held back by {}", gpu.throttled);
  return MachineFinding{"clocks_low", gpu.throttled.empty() ? limit::low_clock_weight : limit::held_clock_weight,
                        fmt::format("{}: {:.0f} MHz where {:.0f} are possible{}", gpus_text(low, f.machine.gpus.size()), gpu.clock * 1e-6,
                                    gpu.clock_max * 1e-6, why),
                        "nvidia-smi -q -d PERFORMANCE,CLOCK; cooling and power limit; clocks somebody locked (nvidia-smi -rgc)"};
}

Found ended_early(const Findings& f) {
  if (f.machine.complete) return std::nullopt;
  return MachineFinding{
      "measurement_incomplete", limit::ended_early_weight,
      fmt::format("the measurement ended early: {}", f.machine.ended.empty() ? "the file does not say why" : f.machine.ended),
      "fabricost measure once more; what it had not come to stays as the stock system has it"};
}

constexpr std::array rules{narrow_link, narrow_slot, slow_host, slice,       slow_memory,
                           one_behind,  links_down,  no_peers,  held_clocks, ended_early};

constexpr double large = 16 * mebibyte;  // below, latencies dominate, which do not indicate a faulty link

std::string bus(const Prediction& p, double seconds) { return rate_text(p.bus_bandwidth() * (p.seconds / seconds)); }

/// Measured and predicted time of one free choice of the library.
struct Compared {
  const Point* point = nullptr;
  Prediction stock;
};

std::vector<Compared> compared(const Findings& f) {
  std::vector<Compared> out;
  for (const Point& point : f.collectives) {
    if (point.algorithm || point.protocol || point.ranks() < 2) continue;
    try {
      out.push_back({&point, predict(f.stock, operation_of_point(point, f.stock))});
    } catch (const RequestError&) {
      continue;  // more ranks than the stock system joins, or nothing that runs there: no prediction
    }
  }
  return out;
}

/// Large all-reduces that take as long as a ring although the switches could reduce.
Found no_reduction_in_switch(const Findings& f, const std::vector<Compared>& all) {
  int could = 0, as_ring = 0;
  std::string example;
  for (const Compared& one : all) {
    if (one.point->collective != Collective::all_reduce || one.stock.ran.algorithm != Algorithm::nvls || one.point->bytes < large) continue;
    ++could;
    const double seconds = one.point->seconds;
    const Prediction ring = predict(f.stock, operation_of_point(*one.point, f.stock), Choice{.algorithm = Algorithm::ring});
    if (seconds < limit::ring_slower * one.stock.high || seconds < ring.low / limit::ring_below || seconds > ring.high * limit::ring_above)
      continue;
    ++as_ring;
    example = fmt::format("all_reduce of {} on {} GPUs reaches {} bus bandwidth, as a ring does ({}); reduction in the switch gives {}",
                          size_text(Bytes::from_value(one.point->bytes)), one.point->ranks(), bus(one.stock, seconds),
                          rate_text(ring.bus_bandwidth()), rate_text(one.stock.bus_bandwidth()));
  }
  if (could < 2 || 2 * as_ring < could) return std::nullopt;
  return MachineFinding{std::string{name(Cause::nvls_off)}, limit::ring_weight, example,
                        "NCCL_DEBUG=INFO must say that NVLS multicast is available; fabric manager, driver, NCCL_NVLS_ENABLE, NCCL_ALGO"};
}

/// Most large collectives are above the interval: a problem that no single probe shows.
Found slow(const std::vector<Compared>& all) {
  std::vector<double> ratios;
  int above = 0;
  const Compared* worst = nullptr;
  for (const Compared& one : all) {
    if (one.point->bytes < large) continue;
    ratios.push_back(one.point->seconds / one.stock.seconds);
    if (one.point->seconds > one.stock.high) ++above;
    if (worst == nullptr || one.point->seconds / one.stock.seconds > worst->point->seconds / worst->stock.seconds) worst = &one;
  }
  if (ratios.size() < 4 || 2 * above < static_cast<int>(ratios.size())) return std::nullopt;
  return MachineFinding{
      "collectives_slow", 0.5,
      fmt::format("{} of {} large collectives take longer than the stock system's interval allows, {:.2f} times as long in the "
                  "median; the worst: {} of {} on {} GPUs at {} bus bandwidth where {} is due",
                  above, ratios.size(), median_of(ratios), name(worst->point->collective),
                  size_text(Bytes::from_value(worst->point->bytes)), worst->point->ranks(), bus(worst->stock, worst->point->seconds),
                  rate_text(worst->stock.bus_bandwidth())),
      "fabricost diagnose LOG with what nccl-tests and NCCL_DEBUG=INFO print"};
}

std::vector<MachineFinding> findings_in_collectives(const Findings& machine) {
  const std::vector<Compared> all = compared(machine);
  std::vector<MachineFinding> out;
  if (auto found = no_reduction_in_switch(machine, all)) out.push_back(std::move(*found));
  if (auto found = slow(all); found && out.empty()) out.push_back(std::move(*found));
  return out;
}

}  // namespace

std::vector<MachineFinding> findings_of(const Findings& machine) {
  std::vector<MachineFinding> out;
  for (const auto rule : rules) {
    Found found = rule(machine);
    const bool said = found && std::any_of(out.begin(), out.end(), [&](const MachineFinding& one) { return one.cause == found->cause; });
    if (found && !said) out.push_back(std::move(*found));
  }
  const bool explained = !out.empty();  // slow collectives alone are less specific than a degraded link
  for (MachineFinding& one : findings_in_collectives(machine))
    if (!explained || one.cause != "collectives_slow") out.push_back(std::move(one));
  std::stable_sort(out.begin(), out.end(), [](const MachineFinding& a, const MachineFinding& b) { return a.confidence > b.confidence; });
  return out;
}

}  // namespace fabricost::probes
