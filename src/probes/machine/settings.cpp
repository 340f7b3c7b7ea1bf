/// Writes counts first (GPUs, links, lanes), then the rate and latency of each measured tier.

#include "machine/figures.hpp"

#include "specs/parts/gpu_index.hpp"
#include "text/yaml_text.hpp"

#include <fabricost/shipped_numbers.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::probes {

namespace {

/// Copies below this fraction of the links did not use them.
constexpr double min_payload = policy::findings::payload;
constexpr double few_bytes = 65536, many_bytes = 67108864;  ///< range of sizes in which copies go from latency to the rate of the link

class Settings {
 public:
  Settings(const MeasuredMachine& machine, const std::vector<MeasuredFigure>& figures, const System& stock, std::string_view source)
      : machine_(machine), figures_(figures), stock_(stock), source_(source) {}

  MachineSettings all() {
    gpu();
    count();
    memories();
    host();
    scale_up();
    return std::move(out_);
  }

 private:
  void set(std::string_view path, std::string_view value, std::string_view why, std::string_view confidence = "measured") {
    out_.set.push_back(fmt::format("{}={{value: {}, source: {}, confidence: {}}}", path, value, in_quotes(why), confidence));
  }
  void plain(std::string_view path, std::string_view value) { out_.set.push_back(fmt::format("{}={}", path, value)); }
  void keep(std::string why) { out_.kept.push_back(std::move(why)); }

  [[nodiscard]] std::string sourced(int points, std::string_view what) const {
    return fmt::format("{}, {} point{}: {}", source_, points, points == 1 ? "" : "s", what);
  }
  [[nodiscard]] static std::string memory_rate(double value) { return fmt::format("{:.6g} GB/s", value * 1e-9); }
  [[nodiscard]] static std::string link_rate(double value) { return memory_rate(value) + " per direction"; }
  [[nodiscard]] static std::string seconds(double value) { return fmt::format("{:.6g} ns", value * 1e9); }

  /// A GPU that data/ does not describe, or a slice of one.
  void gpu() {
    const MeasuredGpu& first = machine_.gpus.front();
    const std::string known = GpuIdentities::shipped()->gpu_named(first.name);
    if (known.empty()) keep(fmt::format("compute rates and sizes are those of {}: {} is not in data/gpus", stock_.gpu.name, first.name));
    if (!first.mig_instance) return;
    const Gpu whole = known.empty() ? stock_.gpu : load_gpu(known);
    const std::string why = fmt::format("{}: a MIG slice, as the driver says", source_);
    if (first.memory > 0) set("gpu.memory", fmt::format("{:.6g} GB", first.memory * 1e-9), why);
    if (first.multiprocessors <= 0 || whole.units <= first.multiprocessors) return;
    const double share = static_cast<double>(first.multiprocessors) / whole.units;
    set("gpu.units", std::to_string(first.multiprocessors), why);
    const std::string part = fmt::format("{} of {} SMs", first.multiprocessors, whole.units);
    for (const auto& [key, rate] : {std::pair{"fp32", &whole.fp32},
                                    {"tf32", &whole.tf32},
                                    {"fp16", &whole.fp16},
                                    {"bf16", &whole.bf16},
                                    {"fp8", &whole.fp8},
                                    {"int8", &whole.int8},
                                    {"fp4", &whole.fp4}})
      if (rate->value.value() > 0)
        set(fmt::format("gpu.compute.{}", key), fmt::format("{:.6g} TFLOP/s", share * rate->value.value() * 1e-12), part, "assumed");
  }

  /// Sets the number of GPUs to those found, and scales NICs with it; a mesh of fewer GPUs is another
  /// machine.
  void count() {
    const auto found = static_cast<int>(machine_.gpus.size());
    const int described = stock_.gpus_per_node;
    if (found == described) return;
    const Tier* up = stock_.tier(TierRole::scale_up);
    const bool rack = stock_.domain != described;
    const bool simple =
        up == nullptr || up->kind == TierKind::switched || up->kind == TierKind::host || up->kind == TierKind::point_to_point;
    const bool more = found > described && (up == nullptr || up->kind != TierKind::host);  // PCIe has a slot for each
    if (more || !simple) {
      keep(fmt::format("{} GPUs, as {} has: {} were found, and its links do not tell how they would join so many", described, stock_.name,
                       found));
      return;
    }
    if (rack && stock_.domain % found != 0) {
      keep(fmt::format("{} GPUs of a node, as {} has: {} were found, which do not divide its domain of {}", described, stock_.name, found,
                       stock_.domain));
      return;
    }
    plain("gpus", std::to_string(found));
    for (const Tier& tier : stock_.tiers) {
      const std::string path = fmt::format("tiers.{}.endpoints", tier.name.view());
      const bool joins_gpus = tier.role == TierRole::scale_up || tier.role == TierRole::host || tier.role == TierRole::c2c;
      if (joins_gpus && !rack && tier.endpoints == described) plain(path, std::to_string(found));
      if (joins_gpus && tier.shared_by > found) plain(fmt::format("tiers.{}.shared_by", tier.name.view()), std::to_string(found));
      if (tier.role == TierRole::nic && tier.endpoints > 1)
        set(path, std::to_string(std::max(1, tier.endpoints * found / described)),
            fmt::format("the share of {} of {} GPUs; NICs were not measured", found, described), "assumed");
    }
  }

  void memories() {
    if (const MeasuredFigure* rate = best_rate(figures_, "hbm", {"read", "write", "copy", "scale in place"}))
      set("hbm.bandwidth", memory_rate(rate->value), sourced(rate->points, rate->what));
    else
      keep("hbm bandwidth: no working set of four times L2 or more was measured");
    const MeasuredFigure* load = figure(figures_, "hbm", "one load");
    if (load != nullptr) set("hbm.latency", seconds(load->value), sourced(load->points, "one dependent load"));
    if (!(stock_.gpu.l2_bandwidth.value.value() > 0)) return;
    if (const MeasuredFigure* rate = figure(figures_, "l2", "read"))
      set("l2.bandwidth", memory_rate(rate->value), sourced(rate->points, "reads of at most half of L2"));
    else
      keep("l2 bandwidth: fewer than three working sets of half of L2 or less were measured");
    if (const MeasuredFigure* near = figure(figures_, "l2", "one load"))
      set("l2.latency", seconds(near->value), sourced(near->points, "one dependent load"));
  }

  /// The present state of the link according to the driver, if copies agree with it: idle links slow down.
  void link_now(const Tier& tier, double copies, std::string_view confidence) {
    const MeasuredGpu* slowest = nullptr;
    double rate = 0;
    for (const MeasuredGpu& gpu : machine_.gpus) {
      const double one = pcie_rate(gpu.pcie_generation, gpu.pcie_lanes);
      if (one > 0 && (slowest == nullptr || one < rate)) {
        slowest = &gpu;
        rate = one;
      }
    }
    const bool agrees = slowest != nullptr && copies <= rate;
    link_ = agrees ? rate : std::max(copies, tier.bandwidth.value.value());
    set(fmt::format("tiers.{}.bandwidth", tier.name.view()), link_rate(link_),
        agrees ? fmt::format("{}: PCIe {} x{}, as the driver says", source_, slowest->pcie_generation, slowest->pcie_lanes)
               : fmt::format("{}: the link {} has", source_, stock_.name),
        confidence);
  }

  void host() {
    const Tier* tier = host_tier(stock_);
    if (tier == nullptr) return;
    const std::string_view name = tier->name.view();
    const MeasuredFigure* to = figure(figures_, name, "to the GPU");
    const MeasuredFigure* from = figure(figures_, name, "from the GPU");
    if (to == nullptr && from == nullptr) return keep(fmt::format("{}: no copies from or to pinned host memory were measured", name));
    if (to == nullptr) to = from;
    if (from == nullptr) from = to;
    const double rate = 2 / (1 / to->value + 1 / from->value);  // of copies in both directions
    const int points = to == from ? to->points : to->points + from->points;
    const std::string what = fmt::format("copies of {} to {}, {} to the GPU and {} from it, as payload",
                                         size_text(Bytes::from_value(to->smallest)), size_text(Bytes::from_value(to->largest)),
                                         rate_text(Bandwidth::from_value(to->value)), rate_text(Bandwidth::from_value(from->value)));
    const bool wide = to->smallest <= few_bytes && to->largest >= many_bytes;
    const std::string_view sure = wide ? "measured" : "assumed";
    if (!wide) keep(fmt::format("{}: basis of its copies; they span less than 64 KiB to 64 MiB", name));
    if (tier->role == TierRole::scale_up) {  // also joins the GPUs: NCCL plans with the link
      link_now(*tier, rate, sure);
      set(fmt::format("tiers.{}.efficiency", name), fmt::format("{:.4f}", std::min(1.0, rate / link_)), sourced(points, what));
    } else {
      set(fmt::format("tiers.{}.bandwidth", name), link_rate(rate), sourced(points, what), sure);
      set(fmt::format("tiers.{}.efficiency", name), "1", "the measured rate is payload");
    }
    copies(name, {{"copy_to_gpu", "to the GPU"}, {"copy_from_gpu", "from the GPU"}, {"copy_both", "both at once, each way"}}, sure, false);
    if (to->smallest <= few_bytes)
      copies(name, {{"copy_start_to_gpu", "start to the GPU"}, {"copy_start_from_gpu", "start from the GPU"}, {"copy_start_both", "start of both"}},
             sure, true);
  }

  /// What copies of one direction, or of both at once, were measured with. \param sure their confidence
  void copies(std::string_view tier, std::initializer_list<std::pair<std::string_view, std::string_view>> keys, std::string_view sure, bool times) {
    for (const auto& [key, what] : keys)
      if (const MeasuredFigure* one = figure(figures_, tier, what))
        set(fmt::format("tiers.{}.{}", tier, key), times ? seconds(one->value) : link_rate(one->value), sourced(one->points, what), sure);
  }

  void scale_up() {
    const Tier* tier = stock_.tier(TierRole::scale_up);
    if (tier == nullptr || tier->kind == TierKind::host) return;
    const std::string_view name = tier->name.view();
    const int links = active_links(machine_, *tier);
    const bool slice = machine_.gpus.front().mig_instance;
    double link = rate_to_one_peer(*tier);
    if (links > 0 && links < tier->links && tier->kind == TierKind::switched && !slice) {
      plain(fmt::format("tiers.{}.links", name), std::to_string(links));
      link *= static_cast<double>(links) / tier->links;
    }
    if (machine_.gpus.size() < 2) return keep(fmt::format("{}: one GPU has no peer to measure it with", name));
    const MeasuredFigure* copy = best_rate(figures_, name, {"copy to a peer", "stores to a peer", "loads from a peer"});
    const double share = copy != nullptr ? copy->value / link : 0;
    if (share >= min_payload)
      set(fmt::format("tiers.{}.efficiency", name), fmt::format("{:.4f}", std::min(1.0, share)),
          sourced(copy->points, fmt::format("{}, {} of {}", copy->what, rate_text(Bandwidth::from_value(copy->value)),
                                            rate_text(Bandwidth::from_value(link)))));
    else
      keep(fmt::format("{}: {}", name, copy == nullptr ? "no single copies between two GPUs were measured" : "copies did not go over it"));
    const MeasuredFigure* load = figure(figures_, name, "one load from a peer");
    if (load != nullptr && share >= min_payload)
      set(fmt::format("tiers.{}.latency", name), seconds(0.5 * load->value),
          sourced(load->points, "half of a dependent load from a peer, there and back"));
  }

  const MeasuredMachine& machine_;
  const std::vector<MeasuredFigure>& figures_;
  const System& stock_;
  std::string source_;
  double link_ = 0;  ///< present rate of PCIe, byte/s
  MachineSettings out_;
};

}  // namespace

int active_links(const MeasuredMachine& machine, const Tier& scale_up) {
  int links = scale_up.links;
  for (const MeasuredGpu& gpu : machine.gpus)
    if (gpu.nvlinks && scale_up.name == "nvlink") links = std::min(links, *gpu.nvlinks);
  return links;
}

MachineSettings settings_of(const MeasuredMachine& machine, const std::vector<MeasuredFigure>& figures, const System& stock,
                            std::string_view source) {
  return Settings(machine, figures, stock, source).all();
}

}  // namespace fabricost::probes
