/// Screening measured points, and leaving some out by source and size.

#include <fabricost/validation/set_aside.hpp>

#include "text/plain_text.hpp"
#include "text/quantile.hpp"
#include "validation/machines.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace fabricost::core {

namespace {

constexpr double headroom = 1.02;                  ///< clocks and printed digits
constexpr double slower = 1.3;                     ///< ratio of a warm-up row to those after it
constexpr double flat = 0.1;                       ///< maximum difference of neighbours on a flat curve
constexpr std::size_t first_rows = 4;              ///< rows of a sweep that may be warm-up
constexpr std::size_t same_in_a_row = 10;          ///< equal times under two names
constexpr std::size_t min_impossible = 3;          ///< impossible times of a run that make all of it doubtful
constexpr double one_message = 4.0 * 1024 * 1024;  ///< from here on, nearly all of a message's time is wire time

/// Bytes per second one way out of a node, by the NICs of the point or else of the machine.
double out_of_node(const System& system, const Point& point) {
  const Tier* nic = system.tier(TierRole::nic);
  double rate = nic != nullptr ? nic->bandwidth.value.value() : 0;
  double count = nic != nullptr ? nic->endpoints : 0;
  if (point.nic_rate.value() > 0) rate = point.nic_rate.value() / 8;
  if (point.nics_per_node > 0) count = point.nics_per_node;
  return rate * count;
}

double of_transfer(const System& system, const Point& point) {
  switch (*point.path) {
    case Path::gpu_host:
    case Path::to_gpu:
    case Path::from_gpu:
    case Path::both_ways: {
      const Tier* tier = host_tier(system);
      return tier != nullptr ? tier->bandwidth.value.value() : 0;
    }
    case Path::nic: return out_of_node(system, point);
    case Path::gpu_gpu: {
      const Tier* tier = system.tier(TierRole::scale_up);
      return tier != nullptr ? tier->bandwidth.value.value() : 0;
    }
  }
  return 0;
}

/// Machines by name, each loaded once; none for an unknown name.
class Machines {
 public:
  const System* of(const std::string& name) {
    const auto [at, fresh] = loaded_.try_emplace(name);
    if (fresh) try {
        at->second = std::make_unique<System>(load_system(name));
      } catch (const Error&) {  // nothing to check the point against
      }
    return at->second.get();
  }

 private:
  std::map<std::string, std::unique_ptr<System>> loaded_;
};

/// A collective by a library of kernels that finished before a kernel could have started.
bool below_a_launch(const Point& p) {
  static constexpr std::array<std::string_view, 7> by_kernels{"nccl", "rccl", "oneccl", "vllm", "sglang", "trtllm", ""};
  return !p.path && p.ranks() > 1 && p.seconds < shortest_collective &&
         std::find(by_kernels.begin(), by_kernels.end(), std::string_view{p.library}) != by_kernels.end();
}

/// Key of a run: rows of one table.
using Run = std::tuple<std::string, std::string, int, int, Collective, DataType, Reduction, std::optional<bool>, std::optional<Path>, bool>;
Run run_of(const Point& p) {
  return {p.source, p.system, p.nodes, p.gpus_per_node, p.collective, p.dtype, p.redop, p.in_place, p.path, p.both_ways};
}

class Screen {
 public:
  explicit Screen(std::vector<Point> points) : points_(std::move(points)), doubts_(points_.size()), impossible_(points_.size()) {}

  Screened result() {
    contradictions();
    wires();
    launches();
    runs();
    other_units();
    names();
    warm_up();
    streams();
    Screened out;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (doubts_[i])
        out.set_aside.push_back({std::move(points_[i]), doubts_[i]->doubt, std::move(doubts_[i]->reason)});
      else
        out.kept.push_back(std::move(points_[i]));
    }
    return out;
  }

 private:
  struct Entry {
    Doubt doubt = Doubt::contradicts_itself;
    std::string reason;
  };
  void doubt(std::size_t i, Doubt why, std::string reason) {
    if (!doubts_[i]) doubts_[i] = Entry{why, std::move(reason)};
  }

  void contradictions() {
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (points_[i].contradicts_itself)
        doubt(i, Doubt::contradicts_itself,
              fmt::format("its printed bandwidth is not {:.0f} B / {:.6g} us", points_[i].bytes, points_[i].seconds * 1e6));
  }

  void wires() {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Point& p = points_[i];
      const System* system = machines_.of(p.system);
      const double max = system != nullptr ? highest_bus_bandwidth(*system, p) : 0;
      if (!(max > 0)) continue;
      const int ranks = p.path ? 2 : p.nodes * (p.gpus_per_node > 0 ? p.gpus_per_node : system->gpus_per_node);
      const double rate = p.bytes / p.seconds * bus_factor(p.collective, ranks);
      if (rate > max * headroom) {
        impossible_[i] = true;
        doubt(i, Doubt::above_the_wires,
              fmt::format("bus bandwidth {:.4g} GB/s where the wires of {} allow {:.4g}", rate / 1e9, p.system.str(), max / 1e9));
      }
    }
  }

  void launches() {
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (below_a_launch(points_[i])) {
        impossible_[i] = true;
        doubt(i, Doubt::below_a_launch,
              fmt::format("{:.3g} us for {:.0f} B: a kernel takes longer to start", points_[i].seconds * 1e6, points_[i].bytes));
      }
  }

  /// One impossible time is a slip; several mean that the run's clock or its sizes are wrong, so that its
  /// plausible times are, too.
  void runs() {
    struct Count {
      std::size_t all = 0, impossible = 0;
    };
    std::map<Run, Count> counts;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      Count& run = counts[run_of(points_[i])];
      ++run.all;
      run.impossible += impossible_[i] ? 1 : 0;
    }
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (const Count& run = counts[run_of(points_[i])]; run.impossible >= min_impossible && 3 * run.impossible >= run.all)
        doubt(i, Doubt::impossible_run,
              fmt::format("{} of this run's {} times are shorter than they can be: its times or sizes are not what they say",
                          run.impossible, run.all));
  }

  /// A run that is slower than any machine is in another unit than it says.
  void other_units() {
    std::map<Run, std::vector<double>> ratios;  // measured over predicted
    for (const Point& p : points_)
      if (const double expected = expected_seconds(p); expected > 0) ratios[run_of(p)].push_back(p.seconds / expected);
    std::map<Run, double> medians;
    for (auto& [run, values] : ratios) medians[run] = lower_median(values);
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (const auto run = medians.find(run_of(points_[i])); run != medians.end() && run->second > slowest_run)
        doubt(i, Doubt::other_unit,
              fmt::format("this run takes {:.2g} times as long as {} should, and no measured run takes over {:.0f}: {}", run->second,
                          canonical(points_[i]), slowest_run, unit_text(run->second)));
  }
  /// Which unit was meant, by how much too long the times are.
  [[nodiscard]] static std::string unit_text(double times) {
    return times > 3e4 ? "microseconds given as seconds?" : "milliseconds given as seconds, or microseconds as milliseconds?";
  }
  /// The time of a point on its machine; 0: not known.
  [[nodiscard]] double expected_seconds(const Point& p) {
    const System* const system = machines_.of(p.system);
    if (system == nullptr || p.streamed) return 0;
    try {
      return predict(*system, operation_of_point(p, *system)).seconds;
    } catch (const RequestError&) {
      return 0;  // no such shape on this machine
    }
  }

  /// The machine's own name, whichever alias the point uses.
  const std::string& canonical(const Point& p) {
    const System* system = machines_.of(p.system);
    return system != nullptr ? system->name : p.system.str();
  }

  void names() {
    // windows of consecutive times of one machine, by a hash of the times
    struct Place {
      std::size_t first = 0;
    };
    std::unordered_map<std::uint64_t, std::vector<Place>> seen;
    std::size_t start = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (i > 0 && !(points_[i].system == points_[i - 1].system)) start = i;
      if (i + 1 < start + same_in_a_row) continue;
      const std::size_t first = i + 1 - same_in_a_row;
      std::uint64_t hash = 0;
      std::set<double> different;
      for (std::size_t j = first; j <= i; ++j) {
        hash = (hash ^ std::hash<double>{}(points_[j].seconds)) * 0x9E3779B97F4A7C15ULL + (hash >> 29U);
        different.insert(points_[j].seconds);
      }
      if (different.size() < 3) continue;  // a flat stretch with few digits proves nothing
      auto& places = seen[hash];
      bool known = false;
      for (const Place& other : places) {
        if (!same_times(first, other.first)) continue;
        const std::string &here = canonical(points_[first]), &there = canonical(points_[other.first]);
        if (here == there) {
          known = true;
          continue;
        }
        for (std::size_t j = 0; j < same_in_a_row; ++j) {
          doubt(first + j, Doubt::two_names, fmt::format("the same times in a row stand under {} too", there));
          doubt(other.first + j, Doubt::two_names, fmt::format("the same times in a row stand under {} too", here));
        }
      }
      if (!known) places.push_back({first});
    }
  }
  [[nodiscard]] bool same_times(std::size_t a, std::size_t b) const {
    for (std::size_t j = 0; j < same_in_a_row; ++j)
      if (points_[a + j].seconds != points_[b + j].seconds) return false;
    return true;
  }

  void warm_up() {
    std::map<Run, std::vector<std::size_t>> sweeps;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      auto& sweep = sweeps[run_of(points_[i])];
      if (!sweep.empty() && points_[i].bytes <= points_[sweep.back()].bytes) {
        warm_up(sweep);
        sweep.clear();
      }
      sweep.push_back(i);
    }
    for (const auto& [run, sweep] : sweeps) warm_up(sweep);
  }
  void warm_up(const std::vector<std::size_t>& sweep) {
    const auto time = [&](std::size_t at) { return points_[sweep[at]].seconds; };
    for (std::size_t k = 1; k < first_rows && k + 1 < sweep.size(); ++k) {
      const double low = std::min(time(k), time(k + 1)), high = std::max(time(k), time(k + 1));
      if (high > low * (1 + flat)) continue;
      // everything before the first flat pair, if all of it is slower
      for (std::size_t j = 0; j < k; ++j)
        if (time(j) <= slower * high) return;
      for (std::size_t j = 0; j < k; ++j)
        doubt(sweep[j], Doubt::warm_up,
              fmt::format("{:.4g} us for {:.0f} B where {:.0f} B take {:.4g}", time(j) * 1e6, points_[sweep[j]].bytes,
                          points_[sweep[k + 1]].bytes, time(k + 1) * 1e6));
      return;
    }
  }

  void streams() {
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (points_[i].streamed && points_[i].bytes < one_message)
        doubt(i, Doubt::stream,
              fmt::format("a rate of many messages in flight: one of {:.0f} B takes its latency besides", points_[i].bytes));
  }

  std::vector<Point> points_;
  std::vector<std::optional<Entry>> doubts_;
  std::vector<bool> impossible_;
  Machines machines_;
};

}  // namespace

double highest_bus_bandwidth(const System& system, const Point& point) {
  if (point.path) return of_transfer(system, point);
  const Tier* inside = system.tier(TierRole::scale_up);
  const int gpus = point.gpus_per_node > 0 ? point.gpus_per_node : system.gpus_per_node, ranks = point.nodes * gpus;
  if (ranks < 2 || gpus > system.gpus_per_node) return 0;
  Fabric f;
  try {
    f = fabric_of(
        system,
        Operation{.collective = Collective::all_reduce, .bytes = Bytes::from_value(point.bytes), .ranks = ranks, .nodes = point.nodes});
  } catch (const RequestError&) {
    return 0;
  }
  const double n = ranks, g = f.local(), N = f.domains();
  const double B = inside != nullptr ? inside->bandwidth.value.value() : 0;
  const auto may = [&](Algorithm a) { return !point.algorithm || *point.algorithm == a; };
  if (N <= 1) {
    const bool in_switch = point.collective == Collective::all_reduce && f.in_switch && may(Algorithm::nvls);
    return in_switch ? std::max(1.0, 2 * (n - 1) / (n + 1)) * B : B;
  }
  // the share of a node's NICs for so many GPUs, over the nodes of a domain; a single GPU may use an unshared
  // NIC
  const Tier* nic = system.tier(TierRole::nic);
  const double per_node = out_of_node(system, point);
  const double count = point.nics_per_node > 0 ? point.nics_per_node : nic != nullptr ? nic->endpoints : 0;
  if (!(per_node > 0) || !(count > 0)) return 0;
  const double used = std::min(count, std::max(1.0, std::ceil(count * gpus / system.gpus_per_node - 1e-9)));
  const double D = per_node / count * used * std::max(1.0, g / gpus);
  switch (point.collective) {
    case Collective::all_to_all: return D / g * (n - 1) / (n - g);
    case Collective::send_recv:
    case Collective::broadcast:
    case Collective::reduce: return D;
    case Collective::all_gather:
    case Collective::reduce_scatter: return D * (n - 1) / (n - g);
    case Collective::all_reduce: break;
  }
  double max = may(Algorithm::ring) ? D : 0;
  if (may(Algorithm::tree) || may(Algorithm::nvls_tree)) max = std::max(max, (N <= 2 ? 2 : 1) * D);
  const bool reduces = f.sharp || point.sharp.value_or(false);
  if (reduces && (may(Algorithm::collnet_direct) || may(Algorithm::collnet_chain) || may(Algorithm::nvls))) max = std::max(max, 2 * D);
  return max > 0 ? max : 2 * D;
}

bool is_impossible(const Point& point, double max) {
  if (below_a_launch(point)) return true;
  return max > 0 && point.bytes / point.seconds * bus_factor(point.collective, point.path ? 2 : point.ranks()) > max * headroom;
}

Screened screen(std::vector<Point> points) { return Screen(std::move(points)).result(); }

namespace {

std::optional<double> size_of_field(std::string_view field) {
  try {
    return parse_size(field).value();
  } catch (const RequestError&) {
    return std::nullopt;  // a part of the name
  }
}

/// Whether a name starts with the pattern; `*` stands for any letters, the first match of each piece counts.
bool begins_like(std::string_view name, std::string_view pattern) {
  std::size_t star = pattern.find('*');
  if (!name.starts_with(pattern.substr(0, star))) return false;
  std::size_t at = std::min(star, pattern.size());
  while (star != std::string_view::npos) {
    pattern.remove_prefix(star + 1);
    star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    at = name.find(piece, at);
    if (at == std::string_view::npos) return false;
    at += piece.size();
  }
  return true;
}

}  // namespace

LeaveOut::LeaveOut(std::string_view term) : term_(term), source_(term) {
  std::vector<double> sizes;
  while (sizes.size() < 2) {
    const std::size_t colon = source_.rfind(':');
    if (colon == std::string::npos || colon == 0) break;
    const std::optional<double> size = size_of_field(std::string_view(source_).substr(colon + 1));
    if (!size) break;
    sizes.insert(sizes.begin(), *size);
    source_.resize(colon);
  }
  if (!sizes.empty()) from_ = sizes[0];
  if (sizes.size() > 1) to_ = sizes[1];
  if (from_ > to_)
    throw RequestError("\"" + plain_text(term_) + "\" leaves out no size: write the smaller one first, as SOURCE:128KiB:1GiB");
}

bool LeaveOut::holds(const Point& point) const {
  return point.bytes >= from_ && point.bytes <= to_ && begins_like(point.source.str(), source_);
}

bool left_out(const std::vector<LeaveOut>& all, const Point& point) {
  return std::any_of(all.begin(), all.end(), [&](const LeaveOut& one) { return one.holds(point); });
}

std::vector<LeaveOut> leave_outs(const std::vector<std::string>& terms) { return {terms.begin(), terms.end()}; }

}  // namespace fabricost::core
