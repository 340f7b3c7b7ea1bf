/// Selects the rows for each tier: working sets of at least four times L2 for the memory, of at most half of
/// L2 for L2, dependent loads for latencies, single transfers for links. Each GPU or pair has its own line;
/// the figure is their median.

#include "machine/figures.hpp"

#include "readings/probe_table.hpp"

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fabricost::probes {

namespace {

constexpr double beyond_caches = 4, inside_cache = 0.5;  // working sets over L2's size
constexpr double near_half = policy::findings::near_half;
constexpr double beyond_l1 = 512 * kibibyte;  // larger than the L1 of any GPU
constexpr double usual_l2 = 64 * mebibyte;    // if unknown

using Rows = std::vector<const ProbeRow*>;

class Figures {
 public:
  Figures(const std::vector<ProbeRow>& rows, const MeasuredMachine& machine, const System& stock) : rows_(rows), stock_(stock) {
    for (const MeasuredGpu& gpu : machine.gpus) l2_ = std::max(l2_, gpu.l2);
    if (l2_ == 0) l2_ = stock.gpu.l2_size.value.value();
    if (l2_ == 0) l2_ = usual_l2;
    for (const MeasuredGpu& gpu : machine.gpus) slot_ = std::max(slot_, pcie_rate(gpu.pcie_generation_max, gpu.pcie_lanes_max));
  }

  std::vector<MeasuredFigure> all() {
    memories();
    host();
    peers();
    launches();
    return std::move(out_);
  }

 private:
  template <class Fits>
  [[nodiscard]] Rows where(std::string_view probe, Fits&& fits) const {
    Rows found;
    for (const ProbeRow& row : rows_)
      if (row.probe == probe && fits(row)) found.push_back(&row);
    return found;
  }
  [[nodiscard]] static std::map<std::string, Rows> by(std::string_view key, const Rows& rows) {
    std::map<std::string, Rows> out;
    for (const ProbeRow* row : rows) out[std::string{row->note(key)}].push_back(row);
    return out;
  }

  using Named = std::vector<std::pair<std::string_view, std::string>>;
  /// These probes, then the others of the group, called by their word.
  [[nodiscard]] static Named named(core::ProbeGroup group, Named out) {
    for (const core::ProbeType& probe : core::probe_table) {
      if (probe.group != group || std::any_of(out.begin(), out.end(), [&](const auto& one) { return one.first == probe.word; })) continue;
      std::string what{probe.word};
      std::replace(what.begin(), what.end(), '_', ' ');
      out.emplace_back(probe.word, std::move(what));
    }
    return out;
  }

  /// The median of one value per GPU or pair.
  struct Spread {
    std::vector<std::pair<double, std::string>> values;
    int points = 0;
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    void add(double value, const std::string& whose, int count, double from, double to) {
      values.emplace_back(value, whose);
      points += count;
      smallest = std::min(smallest, from);
      largest = std::max(largest, to);
    }
  };
  void put(MeasuredFigure figure, const Spread& spread) {
    if (spread.values.empty()) return;
    std::vector<double> values;
    for (const auto& [value, whose] : spread.values) values.push_back(value);
    const auto [min, max] = std::minmax_element(spread.values.begin(), spread.values.end());
    figure.value = median_of(values);
    figure.min = min->first;
    figure.max = max->first;
    if (values.size() > 1) figure.slowest = figure.latency ? max->second : min->second;
    figure.points = spread.points;
    figure.smallest = spread.smallest;
    figure.largest = spread.largest;
    out_.push_back(std::move(figure));
  }

  /// A rate, and the latency of a few bytes under the name `start`, if that is not empty. \param times bytes
  /// moved per byte of a row \param min number of sizes required for a rate
  void rate(const MeasuredFigure& figure, const Rows& rows, std::string_view key, double times, std::string_view start = {},
            double stock_start = 0, double max = policy::findings::datasheet, int min = 1) {
    Spread rates, starts;
    for (const auto& [whose, its] : by(key, rows)) {
      const auto line = line_through(its, max);
      if (!line || line->streaming < min) continue;
      rates.add(times * line->rate, whose, line->points, line->smallest, line->largest);
      if (line->start) starts.add(*line->start, whose, line->points, line->smallest, line->smallest);
    }
    put(figure, rates);
    if (start.empty()) return;
    put({.tier = figure.tier, .what = std::string{start}, .latency = true, .stock = stock_start}, starts);
  }
  /// The median time of one access or launch.
  void time(const MeasuredFigure& figure, const Rows& rows, std::string_view key) {
    Spread times;
    for (const auto& [whose, its] : by(key, rows)) {
      std::vector<double> seconds;
      double smallest = its.front()->bytes, largest = 0;
      for (const ProbeRow* row : its) {
        seconds.push_back(row->seconds);
        smallest = std::min(smallest, row->bytes);
        largest = std::max(largest, row->bytes);
      }
      times.add(median_of(seconds), whose, static_cast<int>(its.size()), smallest, largest);
    }
    put(figure, times);
  }

  void memories() {
    const Gpu& gpu = stock_.gpu;
    const auto cached = [&](const ProbeRow& r) { return r.note("cold") != "yes" && r.bytes > 0 && r.bytes <= inside_cache * l2_; };
    const auto beyond = [&](const ProbeRow& r) { return r.bytes >= beyond_caches * l2_; };
    if (gpu.l2_bandwidth.value.value() > 0)
      rate({.tier = "l2", .what = "read", .stock = gpu.l2_bandwidth.value.value()}, where("memory_read", cached), "gpu", 1, {}, 0, 4,
           3);  // launches take longer than the reads
    const auto near = [&](const ProbeRow& r) { return r.bytes >= beyond_l1 && r.bytes <= near_half * l2_; };
    if (gpu.l2_bandwidth.value.value() > 0)
      time({.tier = "l2", .what = "one load", .latency = true, .stock = gpu.l2_latency.value.value()}, where("pointer_chase", near), "gpu");
    const double written = gpu.hbm_bandwidth.value.value();
    for (const auto& [probe, what] : named(core::ProbeGroup::memory, {{"memory_read", "read"},
                                                                         {"memory_write", "write"},
                                                                         {"memory_copy", "copy"},
                                                                         {"memory_scale", "scale in place"},
                                                                         {"local_copy", "copy by the runtime"}}))
      if (const double times = core::probe_named(probe)->traffic; times > 0)
        rate({.tier = "hbm", .what = what, .datasheet = written, .stock = written}, where(probe, beyond), "gpu", times);
    time({.tier = "hbm", .what = "one load", .latency = true, .stock = gpu.hbm_latency.value.value()}, where("pointer_chase", beyond),
         "gpu");
  }

  void host() {
    const Tier* tier = host_tier(stock_);
    if (tier == nullptr) return;
    const std::string name{tier->name.view()};
    const double link = tier->name == "pcie" && slot_ > 0 ? slot_ : tier->bandwidth.value.value();
    const auto stock = [&](Path path) { return host_copy_of(*tier, stock_.constants.pcie.form, path); };
    const auto pinned = [](const ProbeRow& r) { return r.path == Path::gpu_host; };
    const auto pageable = [](const ProbeRow& r) { return r.note("pinned") == "no"; };
    const auto several = [](const ProbeRow& r) { return !r.note("gpus").empty(); };
    const auto one_way = [](const ProbeRow& r) { return !r.both_ways; };
    const auto both_ways = [](const ProbeRow& r) { return r.both_ways; };
    for (const auto& [path, probe, what, start] :
         {std::tuple{Path::to_gpu, "host_to_device", "to the GPU", "start to the GPU"},
          {Path::from_gpu, "device_to_host", "from the GPU", "start from the GPU"},
          {Path::both_ways, "host_both_ways", "both at once, each way", "start of both"}})
      rate({.tier = name, .what = what, .datasheet = link, .stock = stock(path).rate}, where(probe, pinned), "gpu", 1, start, stock(path).start);
    rate({.tier = name, .what = "pageable, to the GPU", .datasheet = link}, where("host_to_device", pageable), "gpu", 1);
    rate({.tier = name, .what = "pageable, from the GPU", .datasheet = link}, where("device_to_host", pageable), "gpu", 1);
    rate({.tier = name, .what = "to several GPUs at once, each"}, where("host_to_device", several), "gpus", 1);
    rate({.tier = name, .what = "from several GPUs at once, each"}, where("device_to_host", several), "gpus", 1);
    rate({.tier = name, .what = "loads by a kernel"}, where("host_read", one_way), "gpu", 1);
    rate({.tier = name, .what = "stores by a kernel"}, where("host_write", one_way), "gpu", 1);
    rate({.tier = name, .what = "loads and stores at once, each"}, where("host_read", both_ways), "gpu", 1);
    time({.tier = name, .what = "one load from the host", .latency = true}, where("host_load", one_way), "gpu");
  }

  void peers() {
    const Tier* tier = stock_.tier(TierRole::scale_up);
    if (tier == nullptr) return;
    const std::string name{tier->name.view()};
    const double link = rate_to_one_peer(*tier);
    double assumed = 0;
    try {  // a copy between two GPUs, as the stock system prices a large one
      const double bytes = 1024 * mebibyte;
      assumed = bytes / predict(stock_, SendRecv{.bytes = Bytes::from_value(bytes)}).seconds;
    } catch (const RequestError&) {
      assumed = 0;  // one GPU: it has no peer
    }
    const auto one_way = [](const ProbeRow& r) { return r.path == Path::gpu_gpu && !r.both_ways; };
    const auto both_ways = [](const ProbeRow& r) { return r.path == Path::gpu_gpu && r.both_ways; };
    const auto several = [](const ProbeRow& r) { return !r.path; };
    for (const auto& [probe, what] :
         {std::pair{"peer_copy", "copy to a peer"}, {"peer_read", "loads from a peer"}, {"peer_write", "stores to a peer"}}) {
      rate({.tier = name, .what = what, .datasheet = link, .stock = assumed}, where(probe, one_way), "pairs", 1);
      rate({.tier = name, .what = fmt::format("{}, both ways, each", what), .datasheet = link, .stock = assumed}, where(probe, both_ways),
           "pairs", 1);
      rate({.tier = name, .what = fmt::format("{}, several pairs", what), .datasheet = link}, where(probe, several), "pairs", 1);
    }
    const auto any = [](const ProbeRow&) { return true; };
    const double hop = tier->latency.value.value();
    time({.tier = name, .what = "one load from a peer", .latency = true, .stock = 2 * hop}, where("peer_load", any), "pairs");
    time({.tier = name, .what = "one store and its fence", .latency = true}, where("peer_store", any), "pairs");
    time({.tier = name, .what = "one atomic", .latency = true}, where("peer_atomic", any), "pairs");
  }

  void launches() {
    const auto any = [](const ProbeRow&) { return true; };
    for (const auto& [probe, what] : named(core::ProbeGroup::launch, {{"kernel_launch", "launch of an empty kernel"},
                                                                         {"kernel_sync", "launch and wait"},
                                                                         {"graph_launch", "launch of a graph"},
                                                                         {"graph_node", "kernel inside a graph"},
                                                                         {"event_record", "event"},
                                                                         {"stream_wait", "wait of a stream for another"}}))
      time({.tier = "gpu", .what = what, .latency = true}, where(probe, any), "gpu");
  }

  const std::vector<ProbeRow>& rows_;
  const System& stock_;
  double l2_ = 0;    ///< bytes
  double slot_ = 0;  ///< maximum of the PCIe link, byte/s
  std::vector<MeasuredFigure> out_;
};

}  // namespace

double pcie_rate(int generation, int lanes) {
  const std::string name = fmt::format("pcie-{}", generation);
  const std::vector<std::string> known = names_in("links");
  if (lanes <= 0 || !std::binary_search(known.begin(), known.end(), name)) return 0;
  const Link link = load_link(name);
  return link.bandwidth.value.value() * lanes / link.lanes;
}

double rate_to_one_peer(const Tier& tier) {
  switch (tier.kind) {
    case TierKind::full_mesh: return tier.bandwidth.value.value() / std::max(1, tier.endpoints - 1);
    case TierKind::mesh_graph: return tier.link_bandwidth.value();
    case TierKind::torus: return tier.bandwidth.value.value() / std::max(2.0, 2.0 * static_cast<double>(tier.dims.size()));
    case TierKind::ring: return tier.bandwidth.value.value() / 2;
    default: return tier.bandwidth.value.value();
  }
}

std::vector<MeasuredFigure> figures_of(const std::vector<ProbeRow>& rows, const MeasuredMachine& machine, const System& stock) {
  return Figures(rows, machine, stock).all();
}

const MeasuredFigure* figure(const std::vector<MeasuredFigure>& figures, std::string_view tier, std::string_view what) {
  const auto found =
      std::find_if(figures.begin(), figures.end(), [&](const MeasuredFigure& f) { return f.tier == tier && f.what == what; });
  return found == figures.end() ? nullptr : &*found;
}

const MeasuredFigure* best_rate(const std::vector<MeasuredFigure>& figures, std::string_view tier,
                                std::initializer_list<std::string_view> what) {
  const MeasuredFigure* best = nullptr;
  for (const std::string_view one : what)
    if (const MeasuredFigure* found = figure(figures, tier, one); found != nullptr && (best == nullptr || found->value > best->value))
      best = found;
  return best;
}

}  // namespace fabricost::probes
