/// \file calibrate.cpp
/// Sorting measured points into machines, sets of constants and series, fitting them, and summing up what the fit says.

#include "io/machines.hpp"
#include "io/quantile.hpp"

#include <fabricost/calibrate/fit.hpp>
#include <fabricost/io/calibrate.hpp>
#include <fabricost/io/load.hpp>
#include <fabricost/predict/predict.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

namespace fabricost {

namespace {

constexpr double joint_spread = 0.3;       // a weak prior: a constant without data stays, one with data does not notice
constexpr double points_per_cluster = 60;  // of weight, so that the cluster with the longest sweeps does not set a transport's constants
constexpr double across_scale = 0.1, joint_scale = 0.04, own_scale = 0.05;
constexpr int enough_for_quantile = 20;
constexpr double unproven_shape = 0.07;  // leaving a generation out: what its own form differs by beyond what the constants' errors say

double quantile_of(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return io::quantile(values, p);
}
double mean_of(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double error_of(double log_ratio) { return 100 * std::fabs(std::expm1(log_ratio)); }

/// Transports whose public runs cannot be told apart are fitted together.
Transport family_of(Transport t) {
  if (t == Transport::roce) return Transport::infiniband;
  if (t == Transport::efa_v3) return Transport::efa_v2;
  return t;
}

/// The transport whose constants one is held to: EFA v4 and EFA through host memory follow v2. EFA v1 does not: a step of its GPUDirect
/// costs three times one of either (p4de beside p5 and g4dn).
Transport relative_of(Transport t) { return t == Transport::efa_v4 || t == Transport::efa_host ? Transport::efa_v2 : Transport::unknown; }

/// Transports of virtual machines over a cloud's Ethernet, against RDMA by the card over a lossless fabric; RCCL's are neither.
enum class Network : unsigned char { lossless, cloud, other };
Network network_of(Transport t) {
  switch (t) {
    case Transport::infiniband:
    case Transport::roce:
    case Transport::slingshot:
    case Transport::omnipath: return Network::lossless;
    case Transport::efa_host:
    case Transport::efa_v1:
    case Transport::efa_v2:
    case Transport::efa_v3:
    case Transport::efa_v4:
    case Transport::tcpx:
    case Transport::tcpxo:
    case Transport::tcp: return Network::cloud;
    default: return Network::other;
  }
}

/// The family whose fitted set speaks best for a transport: its own, else its relative in either direction, else none (`unknown`).
Transport nearest_fitted(const Calibration& calibration, Transport wanted) {
  const auto fitted = [&](Transport family) {
    return std::any_of(calibration.sets.begin(), calibration.sets.end(),
                       [&](const CalibratedSet& s) { return s.set == ConstantSet::transport && s.transport == family; });
  };
  const Transport family = family_of(wanted);
  if (fitted(family)) return family;
  for (const Transport other : {Transport::efa_v2, Transport::efa_v4, Transport::efa_host})
    if ((relative_of(family) == other || relative_of(other) == family) && fitted(other)) return other;
  return Transport::unknown;
}

/// What a set of constants is called, and so which machines have it in common.
std::string set_name(ConstantSet set, const System& system, const Fabric& fabric) {
  switch (set) {
    case ConstantSet::scale_up: return fmt::format("scale-up-{}", name(system.gpu.generation));
    case ConstantSet::pcie: return system.library == Library::oneccl ? "pcie-oneccl" : "pcie";
    case ConstantSet::transport: return fmt::format("transport-{}", name(family_of(fabric.transport)));
    case ConstantSet::compute: return fmt::format("compute-{}", name(system.gpu.generation));
    case ConstantSet::custom: return fmt::format("custom-{}", name(system.gpu.generation));
    case ConstantSet::moe: return fmt::format("moe-{}", name(system.gpu.generation));
  }
  return {};
}

/// Whether a constant is what tree_step makes of it until somebody measures it (TransportConstants::from_tree_step).
bool follows_tree_step(const Parameter& p) {
  const Constants prior;
  Constants slower;
  slower.transport = TransportConstants::from_tree_step(2 * prior.transport.tree_step);
  return p.value(slower) != p.value(prior);
}

/// The points, ready to be fitted.
class Preparation {
 public:
  Preparation(const Points& points, const CalibrateOptions& options)
      : options_(options), machines_(options.calibration, options.adjust, options.overrides) {
    skipped = points.skipped;
    own_ = !options.system.empty();
    if (own_) own_name = load_system(options.system, options.overrides, options.calibration).name;  // it must exist
    collect(points);
    relate();
    ask_everywhere();
  }

  std::string own_name;  // of the machine fitted alone, as its description has it
  std::vector<Block> blocks;
  std::vector<CalibratedSet> sets;  // beside the blocks
  std::vector<FittedMachine> machines;
  std::vector<Series> series;
  std::vector<std::size_t> set_of;  // of a series: whose residuals it shows
  std::vector<bool> unproven;       // of a block: known from a datasheet alone so far
  std::vector<Skipped> skipped;
  std::vector<SetAside> set_aside;
  std::vector<double> before;  // errors in percent, in the order of the points

 private:
  void collect(const Points& points) {
    std::vector<Point> known;
    for (Point point : points.points) {
      if (own_) {
        if (!is_own(point)) {
          count_skipped(skipped, fmt::format("of {}, not of {}", point.system.str(), own_name), point.repeats);
          continue;
        }
        point.system = options_.system;
      }
      if (std::any_of(options_.leave_out.begin(), options_.leave_out.end(),
                      [&](const std::string& source) { return point.source.str().starts_with(source); })) {
        count_skipped(skipped, "of a source left out by hand", point.repeats);
        continue;
      }
      if (!(point.seconds > 0 && std::isfinite(point.seconds) && point.bytes > 0)) {
        count_skipped(skipped, "its time or size is not a number above zero", point.repeats);
        continue;
      }
      if (machines_.knows(point, skipped)) known.push_back(std::move(point));
    }
    Screened screened = screen(merge_repeats(known));
    set_aside = std::move(screened.set_aside);
    known = std::move(screened.kept);
    std::map<std::string, int> crossing;  // points between nodes, by system
    for (const Point& point : known)
      if (point.nodes > 1) ++crossing[point.system];
    for (const Point& point : known) {
      if (point.ranks() < 2 && point.path != Path::gpu_host) {
        count_skipped(skipped, "one rank: nothing moves", point.repeats);
        continue;
      }
      try {
        add(point, crossing[point.system]);
      } catch (const RequestError& error) {
        count_skipped(skipped, io::first_line(error.what()), point.repeats);
      }
    }
  }

  /// Blocks that have a relative among the others scatter around it, as a machine around its measured siblings.
  void relate() {
    for (std::size_t b = 0; b < blocks.size() && !own_; ++b) {
      if (blocks[b].set != ConstantSet::transport) continue;
      const Transport wanted = relative_of(sets[b].transport);
      for (std::size_t other = 0; other < blocks.size() && wanted != Transport::unknown; ++other)
        if (blocks[other].set == ConstantSet::transport && sets[other].transport == wanted) {
          blocks[b].relative = other;
          blocks[b].spread = 0.5, blocks[b].latency = 0.5;
        }
    }
  }

  /// Whether a point names the machine that is fitted: as the question did, by the name in its description, or by another of its names.
  bool is_own(const Point& point) {
    if (point.system == options_.system || point.system == own_name) return true;
    const auto [at, fresh] = other_names_.try_emplace(point.system, false);
    if (fresh) {
      try {
        at->second = load_system(point.system, {}, "none").name == own_name;
      } catch (const Error&) {
        // nobody's name, so not ours
      }
    }
    return at->second;
  }

  void add(const Point& point, int crossing) {
    const System& system = machines_.of(point);
    if (parse_inference_library(point.library))
      throw RequestError(fmt::format("{} runs kernels of its own; calibrate --only custom fits those", point.library.str()));
    // what no form was fitted for is priced from its schedule: those constants can be fitted where the point says which schedule ran
    const bool by_schedule = system.library == Library::other;
    if (by_schedule && !point.algorithm && point.collective != Collective::send_recv)
      throw RequestError(fmt::format(
          "{}: no form is fitted to its library, and only a point that names its algorithm says which schedule ran", system.name));
    const Operation op = io::question_of(point, system);
    const Choice choice{.algorithm = point.algorithm, .protocol = by_schedule ? point.protocol.value_or(Protocol::simple) : point.protocol};
    const Prediction now = predict(system, op, choice);
    const Fabric fabric = fabric_of(system, op);
    if (is_host_copy(op) || (!by_schedule && !has_fitted_form(now.ran.algorithm, op.collective, fabric))) {
      count_skipped(skipped, fmt::format("{} has no form to fit here", name(now.ran.algorithm)), point.repeats);
      return;
    }
    const bool across = fabric.domains() > 1;
    const ConstantSet set = across ? ConstantSet::transport : fabric.over_pcie ? ConstantSet::pcie : ConstantSet::scale_up;
    if (options_.only && set != *options_.only) {
      count_skipped(skipped, fmt::format("answers for {} constants, which are not to be fitted", name(set)), point.repeats);
      return;
    }
    const std::size_t machine = machine_of(system);
    const std::size_t block = block_of(set, system, fabric);
    machines[machine].block[static_cast<std::size_t>(set)] = block;
    CalibratedSet& into = sets[block];
    if (std::find(into.systems.begin(), into.systems.end(), system.name) == into.systems.end()) into.systems.push_back(system.name);
    const double bytes = op.bytes.value();
    into.smallest = std::min(into.smallest, bytes);
    into.largest = std::max(into.largest, bytes);
    const int local = static_cast<int>(fabric.local());
    into.fewest_ranks = std::min(into.fewest_ranks, local);
    into.most_ranks = std::max(into.most_ranks, local);
    into.most_nodes = std::max(into.most_nodes, static_cast<int>(fabric.domains()));
    ++into.points;
    before.push_back(error_of(std::log(now.seconds / point.seconds)));
    Series& s = series_of(machine, block, fabric, op, now.ran, across);
    s.bytes.push_back(bytes);
    s.log_seconds.push_back(std::log(point.seconds));
    s.weight.push_back(across && !own_ ? std::min(1.0, points_per_cluster / crossing) : 1);
  }

  std::size_t machine_of(const System& system) {
    const auto [at, fresh] = machine_index_.try_emplace(&system, machines.size());
    if (fresh) {
      machines.push_back({.constants = system.constants});
      systems_.push_back(&system);
    }
    return at->second;
  }

  std::size_t block_of(ConstantSet set, const System& system, const Fabric& fabric) {
    const std::string called = set_name(set, system, fabric);
    const auto [at, fresh] = block_index_.try_emplace(called, blocks.size());
    if (!fresh) return at->second;
    Block block{.set = set, .name = called, .prior = system.constants};
    const Basis basis = set == ConstantSet::transport ? system.constants.transport_basis : system.constants.basis;
    if (!own_) {
      if (system.library == Library::nccl || set != ConstantSet::scale_up) {
        block.prior = Constants{};
        for (const Parameter& p : parameters_of(set))
          if (p.fitted == Fitted::held && !follows_tree_step(p)) p.of(block.prior) = p.value(system.constants);
      }
      if (set == ConstantSet::scale_up) block.flat = joint_spread;
      if (set == ConstantSet::pcie) block.spread = 2;
      if (set == ConstantSet::transport) block.latency = 1, block.rate = 0.15;
    } else {
      // a machine is further from a datasheet than from its measured siblings
      block.spread = basis == Basis::datasheet ? 1 : 0.5;
      block.latency = set == ConstantSet::transport ? (system.constants.transport_known ? 0.5 : 1) : 0.3;
      block.rate = set == ConstantSet::transport ? 0.15 : 0.1;
    }
    blocks.push_back(block);
    unproven.push_back(own_ && basis == Basis::datasheet);
    CalibratedSet out;
    out.set = set;
    out.name = called;
    out.generation = system.gpu.generation;
    out.transport = family_of(fabric.transport);
    out.library = system.library;
    const Constants& c = system.constants;
    const bool known = own_ && basis != Basis::datasheet;  // what was measured before still is
    out.smallest = known ? c.smallest : std::numeric_limits<double>::infinity();
    out.largest = known ? c.largest : 0;
    out.fewest_ranks = known ? c.fewest_ranks : std::numeric_limits<int>::max();
    out.most_ranks = known ? c.most_ranks : 0;
    out.most_nodes = 1;  // of this fit's own points: what other clusters showed at more nodes says little of this one's network there
    out.bandwidth = set == ConstantSet::transport ? 0 : set == ConstantSet::pcie ? fabric.pcie_rate : fabric.full_rate;
    sets.push_back(std::move(out));
    return at->second;
  }

  Series& series_of(std::size_t machine, std::size_t set, const Fabric& fabric, const Operation& op, Candidate ran, bool across) {
    const bool wide = is_byte_wide(op.dtype);
    const Key key{machine, op.collective, fabric.ranks(), fabric.domains(), ran.algorithm, ran.protocol, wide};
    const auto [at, fresh] = series_index_.try_emplace(key, series.size());
    if (fresh) {
      series.push_back({.machine = machine,
                        .fabric = fabric,
                        .schedule = schedule_of(ran.algorithm, op.collective, fabric),
                        .ran = ran,
                        .op = op.collective,
                        .byte_wide = wide,
                        .scale = across ? across_scale
                                 : own_ ? own_scale
                                        : joint_scale});
      set_of.push_back(set);
    }
    return series[at->second];
  }

  /// Questions without a measured answer, on every fitted set: how sure the constants leave the fit there.
  void ask_everywhere() {
    const std::vector<FittedMachine> fitted = machines;
    for (std::size_t m = 0; m < fitted.size(); ++m) {
      const System& system = *systems_[m];
      for (std::size_t set = 0; set < 3; ++set) {
        const std::size_t block = fitted[m].block[set];
        if (block == FittedMachine::none) continue;
        const bool across = set == static_cast<std::size_t>(ConstantSet::transport);
        for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all})
          for (const int ranks : {2, 4, 8}) {
            Operation question{.collective = op, .ranks = across ? ranks * system.domain : std::min(ranks, system.domain)};
            if (across) question.nodes = static_cast<int>(ranks * system.nodes_per_domain());
            ask(m, block, question, across);
          }
      }
    }
  }
  void ask(std::size_t machine, std::size_t block, Operation question, bool across) {
    const System& system = *systems_[machine];
    try {
      const Fabric fabric = fabric_of(system, question);
      for (int power = 10; power <= 30; power += 4) {
        const double bytes = std::exp2(power);
        question.bytes = Bytes::from_value(bytes);
        const Candidate ran = predict(system, question).ran;
        if (!has_fitted_form(ran.algorithm, question.collective, fabric)) continue;
        Series& s = series_of(machine, block, fabric, question, ran, across);
        s.bytes.push_back(bytes);
        s.log_seconds.push_back(0);
        s.weight.push_back(0);
      }
    } catch (const RequestError&) {
      // a machine of fewer ranks or nodes is not asked
    }
  }

  using Key = std::tuple<std::size_t, Collective, double, double, Algorithm, Protocol, bool>;
  CalibrateOptions options_;
  bool own_ = false;
  std::map<std::string, bool> other_names_;  // of machines in the points: is it the one that is fitted?
  io::Machines machines_;
  std::vector<const System*> systems_;
  std::map<const System*, std::size_t> machine_index_;
  std::map<std::string, std::size_t> block_index_;
  std::map<Key, std::size_t> series_index_;
};

/// Residuals and the width of the interval, class by class, of the points a set is responsible for.
void sum_up(CalibratedSet& into, std::size_t block, const Preparation& data, const Fit& fit) {
  struct Members {
    std::vector<double> sizes, errors, squares;
  };
  std::map<std::string_view, Members> classes;
  std::vector<double> all;
  for (std::size_t s = 0; s < data.series.size(); ++s) {
    if (data.set_of[s] != block) continue;
    const Series& points = data.series[s];
    const auto member = interval_class(points.ran, points.op, points.fabric);
    const auto named = std::find_if(interval_widths.begin(), interval_widths.end(), [&](const NamedWidth& w) { return w.of == member; });
    Members* its = named == interval_widths.end() ? nullptr : &classes[named->key];  // priced from its schedule: no class of its own
    for (std::size_t i = 0; i < points.bytes.size(); ++i) {
      if (its != nullptr) its->squares.push_back(fit.deviation[s][i] * fit.deviation[s][i]);
      if (!(points.weight[i] > 0)) continue;
      all.push_back(error_of(fit.residuals[s][i]));
      if (its == nullptr) continue;
      its->sizes.push_back(std::fabs(fit.residuals[s][i]));
      its->errors.push_back(all.back());
    }
  }
  into.median_ape = quantile_of(all, 0.5);
  into.mape = mean_of(all);
  for (const NamedWidth& width : interval_widths) {
    const auto found = classes.find(width.key);
    if (found == classes.end()) continue;
    const Members& its = found->second;
    const bool enough = its.sizes.size() >= enough_for_quantile;
    const double scatter = enough ? quantile_of(its.sizes, 0.9) : into.constants.interval.*width.of;
    const double unsure = 1.645 * std::sqrt(mean_of(its.squares));
    double& half = into.constants.interval.*width.of;
    half = std::max(0.01, std::hypot(scatter, unsure));
    if (!enough && data.unproven[block]) half = std::hypot(half, unproven_shape);
    into.classes.push_back({.key = width.key,
                            .points = static_cast<int>(its.sizes.size()),
                            .median_ape = quantile_of(its.errors, 0.5),
                            .mape = mean_of(its.errors),
                            .width = half});
  }
}

void list_constants(CalibratedSet& into, std::size_t block, const Block& prior, const Fit& fit) {
  for (const Unknown& u : fit.unknowns) {
    if (std::find(u.blocks.begin(), u.blocks.end(), block) == u.blocks.end()) continue;
    const Parameter& p = *u.parameter;
    into.fitted.push_back({.key = p.key,
                           .measure = p.measure,
                           .value = p.value(into.constants),
                           .prior = p.value(prior.prior),
                           .deviation = u.deviation,
                           .prior_deviation = u.prior_deviation,
                           .determined = u.determined(),
                           .shared = u.blocks.size() > 1,
                           .partner = u.partner >= 0 ? fit.unknowns[static_cast<std::size_t>(u.partner)].parameter->key : "",
                           .correlation = u.correlation});
  }
  const auto row = [&](const FittedConstant& c) {
    const std::span<const Parameter> table = parameters_of(into.set);
    return std::find_if(table.begin(), table.end(), [&](const Parameter& p) { return p.key == c.key; }) - table.begin();
  };
  std::sort(into.fitted.begin(), into.fitted.end(), [&](const FittedConstant& a, const FittedConstant& b) { return row(a) < row(b); });
}

}  // namespace

Calibration calibrate(const Points& points, const CalibrateOptions& options) {
  Preparation data(points, options);
  Calibration out;
  out.system = data.own_name;
  out.skipped = std::move(data.skipped);
  out.set_aside = std::move(data.set_aside);
  if (data.blocks.empty()) {
    std::string why;
    for (const Skipped& s : out.skipped) why += fmt::format("\n  {} row{}: {}", s.rows, s.rows == 1 ? "" : "s", s.reason);
    for (const SetAside& s : out.set_aside) {
      if (why.size() > 2000) break;  // enough to see what is wrong
      why += fmt::format("\n  {} {:.0f} B: {} ({})", name(s.point.collective), s.point.bytes, name(s.doubt), s.reason);
    }
    throw RequestError(fmt::format("no point is left to fit{}{}", why.empty() ? ": give runs of collectives on a known system" : ":", why));
  }
  const bool joint = options.system.empty();
  FitOptions how{.starts = options.starts > 0 ? options.starts : joint ? 3 : 1, .share = joint};
  const Fit fit = fit_constants(data.blocks, data.machines, data.series, how);
  out.sets = std::move(data.sets);
  std::vector<double> after;
  for (std::size_t s = 0; s < data.series.size(); ++s)
    for (std::size_t i = 0; i < data.series[s].bytes.size(); ++i)
      if (data.series[s].weight[i] > 0) after.push_back(error_of(fit.residuals[s][i]));
  for (std::size_t b = 0; b < out.sets.size(); ++b) {
    out.sets[b].constants = fit.blocks[b];
    sum_up(out.sets[b], b, data, fit);
    list_constants(out.sets[b], b, data.blocks[b], fit);
  }
  out.points = static_cast<int>(after.size());
  out.median_before = quantile_of(data.before, 0.5);
  out.mean_before = mean_of(data.before);
  out.median_after = quantile_of(after, 0.5);
  out.mean_after = mean_of(after);
  out.constants = static_cast<int>(fit.unknowns.size());
  for (const Unknown& u : fit.unknowns) out.determined += u.determined() ? 1 : 0;
  out.converged = fit.converged;
  out.steps = fit.steps;
  return out;
}

void apply_mean(const Calibration& calibration, System& system) {
  Constants& c = system.constants;
  for (const Parameter& p : parameters_of(ConstantSet::scale_up)) {
    double sum = 0, count = 0;
    for (const CalibratedSet& set : calibration.sets) {
      if (set.set != ConstantSet::scale_up || !(p.value(set.constants) > 0)) continue;
      const auto fitted = std::find_if(set.fitted.begin(), set.fitted.end(), [&](const FittedConstant& f) { return f.key == p.key; });
      const bool unseen = fitted != set.fitted.end() && !fitted->determined && p.key.starts_with("nvls.");
      if (unseen) continue;
      sum += std::log(p.value(set.constants));
      count += 1;
    }
    if (count > 0) p.of(c) = std::exp(sum / count);
  }
  c.basis = Basis::datasheet;
  c.name = "mean";
}

void apply_transport_mean(const Calibration& calibration, System& system) {
  Constants& c = system.constants;
  c.transport = TransportConstants{};
  c.transport_known = false;
  c.transport_basis = Basis::datasheet;
  c.transport_name = "mean";
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) return;
  const Network wanted = network_of(nic->transport);
  const auto counts = [&](const CalibratedSet& set, bool alike) {
    return set.set == ConstantSet::transport && (!alike || network_of(set.transport) == wanted);
  };
  const bool alike = wanted != Network::other &&
                     std::any_of(calibration.sets.begin(), calibration.sets.end(), [&](const CalibratedSet& s) { return counts(s, true); });
  for (const Parameter& p : parameters_of(ConstantSet::transport)) {
    double sum = 0, count = 0;
    for (const CalibratedSet& set : calibration.sets)
      if (counts(set, alike)) sum += std::log(p.value(set.constants)), count += 1;
    if (count > 0) p.of(c) = std::exp(sum / count);
  }
}

void apply_calibration(const Calibration& calibration, System& system) {
  const Tier* scale_up = system.tier(TierRole::scale_up);
  const bool over_pcie = scale_up != nullptr && scale_up->kind == TierKind::host;
  const Tier* nic = system.tier(TierRole::nic);
  const Transport nearest = nic != nullptr ? nearest_fitted(calibration, nic->transport) : Transport::unknown;
  Constants& c = system.constants;
  for (const CalibratedSet& set : calibration.sets) {
    const bool ours = std::find(set.systems.begin(), set.systems.end(), system.name) != set.systems.end();
    const bool fits = set.set == ConstantSet::transport ? nearest != Transport::unknown && nearest == set.transport
                      : set.library != system.library   ? false
                      : set.set == ConstantSet::pcie    ? over_pcie
                                                        : set.generation == system.gpu.generation;
    if (!ours && !fits) continue;
    for (const Parameter& p : parameters_of(set.set)) p.of(c) = p.value(set.constants);
    for (const NamedWidth& width : interval_widths)
      if (width.set == set.set) c.interval.*width.of = set.constants.interval.*width.of;
    if (set.set == ConstantSet::transport) {
      c.transport_known = true;
      c.transport_basis = ours ? Basis::calibrated : Basis::sibling;
      c.most_nodes = set.most_nodes;
      c.transport_name = set.name;
    } else {
      c.basis = ours ? Basis::calibrated : set.set == ConstantSet::pcie ? Basis::datasheet : Basis::sibling;
      c.smallest = set.smallest;
      c.largest = set.largest;
      c.fewest_ranks = set.fewest_ranks;
      c.most_ranks = set.most_ranks;
      c.name = set.name;
    }
  }
}

}  // namespace fabricost
