/// Sorts measured points.

#include "calibrate/preparation.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/complete.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace fabricost::core::calibrating {

namespace {

namespace fits = policy::fits;

/// The distance of a machine from its measured siblings, and of a transport from its relative, over that to the prior.
constexpr double beside_relative = 0.5;

/// Name of a set of constants, which defines the machines that share it.
std::string set_name(ConstantSet set, const System& system, const Transport& transport) {
  switch (set) {
    case ConstantSet::scale_up: return fmt::format("scale-up-{}", name(system.gpu.generation));
    case ConstantSet::pcie: {
      const Tier* up = system.tier(TierRole::scale_up);
      return system.library == Library::oneccl ? "pcie-oneccl" : up != nullptr && up->peer_to_peer ? "pcie-peers" : "pcie";
    }
    case ConstantSet::transport: return fmt::format("transport-{}", transport.family().view());
    case ConstantSet::compute: return fmt::format("compute-{}", name(system.gpu.generation));
    case ConstantSet::custom: return fmt::format("custom-{}", name(system.gpu.generation));
    case ConstantSet::moe: return fmt::format("moe-{}", name(system.gpu.generation));
  }
  return {};
}

/// Adds "nccl-2.23" of a point that says 2.23.4, all of several that were merged; the library alone where no version is said.
void add_releases(std::set<std::string>& into, const Point& point) {
  const std::string library = point.library.str().empty() ? "nccl" : point.library.str();
  std::istringstream versions(point.releases.empty() ? point.library_version.str() : point.releases.str());
  bool any = false;
  for (std::string version; versions >> version; any = true) {
    const std::size_t at = version.find('.');
    const std::size_t end = at == std::string::npos ? at : version.find_first_not_of("0123456789", at + 1);
    into.insert(at == std::string::npos ? library : fmt::format("{}-{}", library, version.substr(0, end)));
  }
  if (!any) into.insert(library);
}

/// Adds how a point's runs were launched: as they state; else those inside a node are taken for graphs. The constants of RCCL and those
/// between nodes hold launches whatever they were.
void add_launches(std::set<std::string_view>& into, const Point& point, Library library) {
  for (std::size_t mode = 0; mode < launch_mode_names.size(); ++mode)
    if ((point.launched >> mode & 1U) != 0) into.insert(launch_mode_names[mode]);
  if (point.launched == 0) into.insert(point.nodes == 1 && library != Library::rccl ? name(point.launch.mode) : "unstated");
}

/// Whether a constant follows from tree_step until it is measured (TransportConstants::from_tree_step).
bool follows_tree_step(const Parameter& p) {
  const Constants prior;
  Constants slower;
  slower.transport = TransportConstants::from_tree_step(2 * prior.transport.tree_step);
  return p.value(slower) != p.value(prior);
}

}  // namespace

Preparation::Preparation(const Points& points, const CalibrateOptions& options)
    : options_(options), machines_(options.calibration, options.adjust, options.overrides) {
  skipped = points.skipped;
  held = held_constants(options.hold);
  own_ = !options.system.empty();
  if (own_) own_name = load_system(options.system, options.overrides, options.calibration).name;  // throws if it does not exist
  collect(points);
  if (!own_) separate();
  relate();
  ask_everywhere();
}

void Preparation::collect(const Points& points) {
  std::vector<Point> known;
  const std::vector<LeaveOut> by_hand = leave_outs(options_.leave_out);
  for (Point point : points.points) {
    if (own_) {
      if (!is_own(point)) {
        count_skipped(skipped, fmt::format("of {}, not of {}", point.system.str(), own_name), point.repeats);
        continue;
      }
      point.system = options_.system;
    }
    if (left_out(by_hand, point)) {
      count_skipped(skipped, "left out by hand", point.repeats);
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
  // points between nodes, by system; of a system alone by number of nodes
  std::map<std::pair<std::string, int>, int> crossing;
  const auto sweep = [&](const Point& point) { return std::pair{std::string{point.system}, own_ ? point.nodes : 0}; };
  for (const Point& point : known)
    if (point.nodes > 1) ++crossing[sweep(point)];
  for (const Point& point : known) {
    if (point.ranks() < 2 && !(point.path && is_host_path(*point.path))) {
      count_skipped(skipped, "one rank: nothing moves", point.repeats);
      continue;
    }
    try {
      add(point, crossing[sweep(point)]);
    } catch (const RequestError& error) {
      count_skipped(skipped, first_line(error.what()), point.repeats);
    }
  }
}

void Preparation::separate() {
  for (std::size_t b = 0, transports = blocks.size(); b < transports; ++b) {
    if (blocks[b].set != ConstantSet::transport || sets[b].systems.size() < 2) continue;
    for (const std::string& system : std::vector<std::string>(sets[b].systems)) separate(b, clusters_.at({b, system}));
  }
}

void Preparation::separate(std::size_t transport, const CalibratedSet& cluster) {
  const std::size_t own = blocks.size();
  Block block = blocks[transport];
  block.name = cluster.name;
  block.spread = block.latency = beside_relative;
  block.relative = transport;
  blocks.push_back(std::move(block));
  unproven.push_back(false);
  earlier.push_back(0);
  sets.push_back(cluster);
  constexpr auto place = static_cast<std::size_t>(ConstantSet::transport);
  for (std::size_t m = 0, count = machines.size(); m < count; ++m) {
    if (systems_[m]->name != cluster.cluster || machines[m].block[place] != transport) continue;
    const std::size_t relative = machines.size();
    machines.push_back({.constants = machines[m].constants});
    machines[relative].block[place] = transport;
    systems_.push_back(systems_[m]);
    machines[m].block[place] = own;
    for (std::size_t s = 0, all = series.size(); s < all; ++s) {
      if (series[s].machine != m || set_of[s] != transport) continue;
      Series same = series[s];
      same.machine = relative;
      same.of_relative = true;
      std::fill(same.weight.begin(), same.weight.end(), 0.0);
      set_of[s] = own;
      series.push_back(std::move(same));
      set_of.push_back(transport);
    }
  }
}

void Preparation::relate() {
  for (std::size_t b = 0; b < blocks.size() && !own_; ++b) {
    if (blocks[b].set != ConstantSet::transport || blocks[b].relative != Block::no_relative) continue;
    const Label wanted = sets[b].transport.relative;
    for (std::size_t other = 0; other < blocks.size() && !wanted.empty(); ++other)
      if (blocks[other].set == ConstantSet::transport && sets[other].cluster.empty() && sets[other].transport.family() == wanted) {
        blocks[b].relative = other;
        blocks[b].spread = blocks[b].latency = beside_relative;
      }
  }
}

bool Preparation::is_own(const Point& point) {
  if (point.system == options_.system || point.system == own_name) return true;
  const auto [at, fresh] = other_names_.try_emplace(point.system, false);
  if (fresh) {
    try {
      at->second = load_system(point.system, {}, "none").name == own_name;
    } catch (const Error&) {
      // an unknown name, so not this machine's
    }
  }
  return at->second;
}

void Preparation::add(const Point& point, int crossing) {
  const System& system = machines_.of(point);
  if (parse_inference_library(point.library))
    throw Refusal(fmt::format("{} runs kernels of its own; calibrate <only=custom> fits those", point.library.str()));
  if (is_of_hosts(point) && (system.library == Library::nccl || system.library == Library::rccl))
    throw RequestError(fmt::format("of MPI or verbs ({}), not of {}: a cluster of GPUs is calibrated by the points of its own library",
                                   point.library.str(), name(system.library)));
  // a library without a fitted form is priced from its schedule: those constants can be fitted if the point
  // names the schedule
  const bool by_schedule = system.library == Library::other;
  if (by_schedule && !point.algorithm && point.collective != Collective::send_recv)
    throw RequestError(fmt::format(
        "{}: no form is fitted to its library, and only a point that names its algorithm says which schedule ran", system.name));
  const Operation op = operation_of_point(point, system);
  const Choice choice{.algorithm = point.algorithm,
                      .protocol = by_schedule ? point.protocol.value_or(Protocol::simple) : point.protocol,
                      .launch = launch_of(point),
                      .ways = ways_of(point)};
  const Prediction now = predict(system, op, choice);
  const Fabric& fabric = now.made_from.fabric;
  // the GPUs' time without the host's launches: time = norm_q(GPUs, host) solved for the GPUs (predict/predict.hpp)
  const double host = now.made_from.host.seconds(), overlap = system.constants.custom.form.host_overlap;
  const double left = std::pow(point.seconds, overlap) - std::pow(host, overlap);
  const double call = rccl_call(system.constants.scale_up.form, fabric, op.collective, choice.launch), alone = now.seconds - call;
  const double seconds = host > 0 ? std::pow(std::max(left, 0.0), 1 / overlap) : point.seconds - call;
  if (host > 0 ? host > now.made_from.gpu_seconds || host > seconds : call > alone || call > seconds) {
    const HostTime& held_by = now.made_from.host;
    if (const double took = std::pow(point.seconds, overlap) - std::pow(now.made_from.gpu_seconds, overlap); host > 0 && took > 0)
      host_launches.push_back(std::pow(took, 1 / overlap) / (held_by.gpus * held_by.share) -
                              held_by.messages * system.constants.scale_up.form.host_peer);
    count_skipped(skipped, "the host's launches hold it, not what is fitted", point.repeats);
    return;
  }
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
  const Bytes size = op.bytes;
  const auto count_in = [&](CalibratedSet& into) {
    if (std::find(into.systems.begin(), into.systems.end(), system.name) == into.systems.end()) into.systems.push_back(system.name);
    add_measured(into.fitted_on, system.name, system.domain, static_cast<std::size_t>(op.collective));
    into.smallest = std::min(into.smallest, size);
    into.largest = std::max(into.largest, size);
    const int local = static_cast<int>(fabric.local());
    into.fewest_ranks = std::min(into.fewest_ranks, local);
    into.most_ranks = std::max(into.most_ranks, local);
    into.most_nodes = std::max(into.most_nodes, static_cast<int>(fabric.domains()));
    add_launches(into.launches, point, system.library);
    add_releases(into.libraries, point);
    ++into.points;
  };
  count_in(sets[block]);
  if (across && !own_) {
    const auto [at, fresh] = clusters_.try_emplace({block, system.name});
    CalibratedSet& its = at->second;
    if (fresh) {
      its = sets[block];
      its.name = "cluster-" + system.name;
      its.cluster = system.name;
      its.systems.clear();
      its.fitted_on.clear();
      its.launches.clear();
      its.libraries.clear();
      its.smallest = units::B(std::numeric_limits<double>::infinity());
      its.largest = Bytes{};
      its.fewest_ranks = std::numeric_limits<int>::max();
      its.most_ranks = 0;
      its.most_nodes = 1;
      its.points = 0;
    }
    count_in(its);
  }
  const double off = std::log((host > 0 ? now.made_from.gpu_seconds : now.seconds) / seconds);
  before.push_back(error_of(off));
  Series& s = series_of(machine, block, fabric, op, now.ran, across, false);
  if (earlier[block] != 0) earlier_errors[static_cast<std::size_t>(&s - series.data())].push_back(std::fabs(off));
  s.bytes.push_back(size.value());
  s.log_seconds.push_back(std::log(seconds));
  s.weight.push_back(across ? std::min(1.0, (own_ ? fits::points_of_own_sweep : fits::points_per_cluster) / crossing) : 1);
}

std::size_t Preparation::machine_of(const System& system) {
  const auto [at, fresh] = machine_index_.try_emplace(&system, machines.size());
  if (fresh) {
    machines.push_back({.constants = system.constants});
    systems_.push_back(&system);
  }
  return at->second;
}

std::size_t Preparation::block_of(ConstantSet set, const System& system, const Fabric& fabric) {
  const Tier* nic = system.tier(TierRole::nic);
  const Transport transport = nic != nullptr ? nic->transport : Transport{};
  const std::string called = set_name(set, system, transport);
  const auto [at, fresh] = block_index_.try_emplace(called, blocks.size());
  if (!fresh) return at->second;
  Block block{.set = set, .name = called, .prior = system.constants};
  const Basis basis = set == ConstantSet::transport ? system.constants.transport_basis : system.constants.basis;
  if (!own_) {
    if (system.library == Library::nccl || set != ConstantSet::scale_up) {
      block.prior = Constants{};
      if (options_.prior) options_.prior(block.prior);
      for (const Parameter& p : parameters_of(set))
        if (p.held() && !follows_tree_step(p)) p.of(block.prior) = p.value(system.constants);
    }
    if (set == ConstantSet::scale_up) block.flat = fits::joint_spread;
    if (set == ConstantSet::pcie) block.spread = 2;
    if (set == ConstantSet::transport) {
      block.latency = 1;
      block.rate = fits::transport_rate;
      block.prior.interval.unmeasured_cluster = system.constants.interval.unmeasured_cluster;  // of the transport's file
    }
  } else {
    // a machine is further from a datasheet than from its measured siblings
    block.spread = basis == Basis::datasheet ? 1 : beside_relative;
    block.latency = set == ConstantSet::transport ? (system.constants.transport_known ? beside_relative : 1) : fits::inside_latency;
    block.rate = set == ConstantSet::transport ? fits::transport_rate : fits::inside_rate;
  }
  for (const Held& h : held)
    if (h.parameter->set == set && h.value) h.parameter->of(block.prior) = *h.value;
  blocks.push_back(block);
  unproven.push_back(own_ && basis == Basis::datasheet);
  const bool across = set == ConstantSet::transport;
  earlier.push_back(own_ && basis == Basis::calibrated ? (across ? system.constants.transport_operations : system.constants.operations).here
                                                       : 0);
  CalibratedSet out;
  out.set = set;
  out.name = called;
  out.generation = system.gpu.generation;
  out.transport = transport;
  out.library = system.library;
  const Constants& c = system.constants;
  const bool known = own_ && set != ConstantSet::transport && basis != Basis::datasheet;  // earlier measurements stay valid
  out.smallest = units::B(known ? c.smallest : std::numeric_limits<double>::infinity());
  out.largest = units::B(known ? c.largest : 0);
  out.fewest_ranks = known ? c.fewest_ranks : std::numeric_limits<int>::max();
  out.most_ranks = known ? c.most_ranks : 0;
  out.most_nodes = 1;  // only this fit's own points count: larger runs on other clusters do not validate this cluster's network
  out.bandwidth = units::B_per_s(set == ConstantSet::transport ? 0 : set == ConstantSet::pcie ? fabric.pcie_rate : fabric.full_rate);
  sets.push_back(std::move(out));
  return at->second;
}

Series& Preparation::series_of(std::size_t machine, std::size_t set, const Fabric& fabric, const Operation& op, Candidate ran, bool across,
                               bool asked) {
  const bool wide = is_byte_wide(op.dtype);
  const Key key{machine, op.collective, fabric.ranks(), fabric.domains(), ran.algorithm, ran.protocol, wide, asked};
  const auto [at, fresh] = series_index_.try_emplace(key, series.size());
  if (fresh) {
    series.push_back({.machine = machine,
                      .fabric = fabric,
                      .schedule = schedule_of(ran.algorithm, op.collective, fabric),
                      .ran = ran,
                      .op = op.collective,
                      .byte_wide = wide,
                      .scale = across ? fits::across_scale
                               : own_ ? fits::own_scale
                                      : fits::joint_scale});
    if (!across) series.back().fabric.pcie_carried = series.back().fabric.pcie_exchanged = 0;  // a fit finds the board's rates itself
    set_of.push_back(set);
  }
  return series[at->second];
}

void Preparation::ask_everywhere() {
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

void Preparation::ask(std::size_t machine, std::size_t block, Operation question, bool across) {
  const System& system = *systems_[machine];
  try {
    const Fabric fabric = fabric_of(system, question);
    for (int power = 10; power <= 30; power += 4) {
      const double bytes = std::exp2(power);
      question.bytes = Bytes::from_value(bytes);
      const Candidate ran = predict(system, question).ran;
      if (!has_fitted_form(ran.algorithm, question.collective, fabric)) continue;
      Series& s = series_of(machine, block, fabric, question, ran, across, true);
      s.bytes.push_back(bytes);
      s.log_seconds.push_back(0);
      s.weight.push_back(0);
    }
  } catch (const RequestError&) {
    // the machine has fewer ranks or nodes
  }
}

}  // namespace fabricost::core::calibrating
