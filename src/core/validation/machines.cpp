/// Loads the machines that measured points name, and predicts the points.

#include "validation/machines.hpp"
#include "text/joined.hpp"

#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/choice/releases.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::core {

namespace {

bool known_without_calibration(const std::string& name) {
  try {
    (void)load_system(name, {}, "none");
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

/// 2022 of a run between nodes with RCCL 2.22.3; 0 where none is stated. Of NCCL the tables are told apart (LibraryEra).
int release_between_nodes(const Point& point) {
  return point.nodes > 1 && point.library == "rccl" ? version_number(point.library_version.str()) / 1000 : 0;
}

/// Whether the network's switches combine, where the point says so: by itself, or by an algorithm that exists nowhere else.
std::optional<bool> sharp_of(const Point& point) {
  return !point.sharp && point.algorithm && is_collnet(*point.algorithm) ? std::optional{true} : point.sharp;
}

/// NIC properties of the point that differ from the machine's description.
std::vector<std::string> overrides(const System& system, const Point& point) {
  std::vector<std::string> out;
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) return out;
  const int release = release_between_nodes(point);
  const auto set = [&](std::string_view key, std::string_view value) {
    out.push_back(fmt::format("tiers.{}.{}={}", nic->name.view(), key, value));
  };
  if (release > 0 && release <= nic->transport.older_until) set("transport", nic->transport.older.view());
  if (point.gpu_direct && *point.gpu_direct != nic->gpu_direct) set("gdr", *point.gpu_direct ? "true" : "false");
  if (const std::optional<bool> sharp = sharp_of(point); sharp && *sharp != nic->sharp) set("sharp", *sharp ? "true" : "false");
  const double rate = point.nic_rate.value() / 8;  // bytes per second of the line; descriptions state how much of it is payload
  const double own = nic->bandwidth.value.value();
  const bool other_rate = rate > 0 && std::fabs(rate / own - 1) > 0.1;
  const bool other_count = point.nics_per_node > 0 && point.nics_per_node != nic->endpoints;
  // twice as many ports of half the rate are equivalent
  if (other_rate && other_count && std::fabs(rate * point.nics_per_node / (own * nic->endpoints) - 1) < 0.1) return out;
  if (other_count) set("endpoints", std::to_string(point.nics_per_node));
  if (other_rate) set("bandwidth", fmt::format("{:.17g} GB/s per direction", rate / 1e9));
  return out;
}

}  // namespace

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

const System& PointMachines::of(const Point& point) {
  const LibraryEra era = point.path ? LibraryEra{} : era_of(point);
  const Key key{
      point.system, point.gpu_direct, sharp_of(point), point.nics_per_node, point.nic_rate.value(), era, release_between_nodes(point)};
  const auto found = seen_.find(key);
  if (found != seen_.end()) return *found->second;
  const System& plain = loaded(point.system, {});
  const System& fitting = with_era(loaded(point.system, overrides(plain, point)), era);
  seen_.emplace(key, &fitting);
  return fitting;
}

const System& PointMachines::with_era(const System& system, LibraryEra era) {
  if (system.library != Library::nccl || era == LibraryEra{system.tuner, system.tuner_assumed, system.nccl_release}) return system;
  const auto [at, fresh] = eras_.try_emplace({&system, era}, system);
  at->second.tuner = era.tuner;
  at->second.tuner_assumed = era.assumed;
  at->second.nccl_release = era.release;
  if (const double from = later_first_release(at->second.library, at->second.tuner, at->second.nccl_release, at->second.gpu.generation);
      from > 0)
    throw RequestError(
        fmt::format("NCCL 2.{} does not run on {} GPUs, which it does from 2.{:.0f} on", era.release, name(system.gpu.generation), from));
  return at->second;
}

bool PointMachines::knows(Point& point, std::vector<Skipped>& skipped) {
  if (point.system.empty()) {
    count_skipped(skipped, "the row names no system and none was given", point.repeats);
    return false;
  }
  try {
    const System& system = of(point);
    if (point.gpus_per_node == 0) point.gpus_per_node = system.gpus_per_node;
    return true;
  } catch (const CalibrationFault& fault) {
    throw RequestError(fault.message);
  } catch (const RequestError& error) {
    count_skipped(skipped, first_line(error.what()), point.repeats);
    return false;
  }
}

const System& PointMachines::loaded(const std::string& name, const std::vector<std::string>& changes) {
  auto& slot = systems_[{name, changes}];
  if (slot) return *slot;
  try {
    std::vector<std::string> all = overrides_;
    all.insert(all.end(), changes.begin(), changes.end());
    slot = std::make_unique<System>(load_system(name, all, calibration_));
  } catch (const RequestError& error) {
    if (!calibration_.empty() && known_without_calibration(name)) throw CalibrationFault{error.what()};
    throw;
  } catch (const SpecError& error) {
    if (changes.empty()) throw;
    throw RequestError(fmt::format("{} cannot have {}: {}", name, joined(changes), first_line(error.issues().front().message)));
  }
  if (adjust_) adjust_(*slot);
  return *slot;
}

bool is_of_hosts(const Point& point) { return point.library == "osu" || point.library == "perftest"; }

Operation operation_of_point(const Point& point, const System& system) {
  Operation op{.collective = point.collective,
               .bytes = Bytes::from_value(point.bytes),
               .ranks = point.ranks(),
               .nodes = point.nodes,
               .dtype = point.dtype};
  if (point.path) return SendRecv{.bytes = op.bytes, .path = *point.path, .ranks = 2};
  if (point.library == "oneccl" && point.collective == Collective::all_gather) op.bytes *= static_cast<double>(point.ranks());
  if (point.collective == Collective::send_recv) {
    const bool one_domain =
        point.ranks() <= system.domain && point.nodes * system.gpus_per_node <= std::max(system.domain, system.gpus_per_node);
    op.path = one_domain ? Path::gpu_gpu : Path::nic;
    op.ranks = point.ranks();  // of the communicator, which sets the channels of a peer
    if (one_domain) op.nodes = 1;
  }
  return op;
}

CallLaunch launch_of(const Point& point) {
  CallLaunch out = point.launch;
  if (point.nodes > 1 && !point.path && out.mode == LaunchMode::graph) out.mode = LaunchMode::queued;
  return out;
}

Ways ways_of(const Point& point) {
  return {.redop = reduces(point.collective) ? point.redop : Reduction::sum,
          .symmetric = point.windows,
          .any_buffer = era_of(point).release >= prior::ways::any_buffer_from,
          .nvls = point.nvls,
          .pxn = point.pxn};
}

}  // namespace fabricost::core
