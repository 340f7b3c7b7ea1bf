/// A machine is recognised by its GPU, as in `diagnose`: the usual one of data/systems. No trace says which network joins several nodes,
/// so only groups inside a node are predicted then.

#include "answers/trace/step.hpp"

#include "specs/parts/gpu_index.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fabricost::observe::detail {

namespace {

/// What no call on this machine can be shorter than: its bytes over the wires, or the start of a kernel.
double least_time(const System& system, const Operation& operation) {
  // ranks that no trace names are as near each other as they can be
  const int nodes = operation.nodes > 0 ? operation.nodes : operation.ranks <= system.gpus_per_node ? 1 : 0;
  if (operation.collective == Collective::send_recv || nodes < 1 || operation.ranks % nodes != 0) return 0;
  Point point;
  point.nodes = nodes;
  point.gpus_per_node = operation.ranks / nodes;
  point.collective = operation.collective;
  point.bytes = operation.bytes.value();
  const double most = highest_bus_bandwidth(system, point);
  const double wires = most > 0 ? point.bytes * bus_factor(operation.collective, operation.ranks) / most : 0;
  return std::max(wires, shortest_collective);
}

}  // namespace

std::string other_gpu(const System& system, const std::string& gpu) {
  const std::string known = gpu.empty() ? std::string{} : GpuIdentities::shipped()->gpu_named(gpu);
  if (known.empty() || known == system.gpu.name || load_gpu(known).generation == system.gpu.generation) return {};
  return fmt::format("{} has {}, and the traces are of {}", system.name, system.gpu.name, gpu);
}

TraceMachine::TraceMachine(const TraceRequest& request, const std::vector<RankTrace>& traces, std::vector<std::string>& notes)
    : request_(request), notes_(notes) {
  std::set<std::string> gpus;
  for (const RankTrace& one : traces) {
    if (!one.gpu.empty()) gpus.insert(one.gpu);
    world_ = std::max({world_, one.world, one.rank + 1});
  }
  if (request.system) {
    system_ = request.system.get(request.on ? std::vector<std::string>{} : request.overrides);
    if (system_->pod > 0) system_ = std::make_shared<const System>(slice_for(*system_, world_));
    for (const std::string& gpu : gpus)
      if (const std::string other = other_gpu(*system_, gpu); !other.empty()) note(other + ": name the machine that ran them.");
    return;
  }
  if (!request.overrides.empty() && !request.on) throw Refusal("<overrides> change a machine: add <system>");
  if (gpus.size() != 1) {
    note(gpus.empty() ? "The traces do not say which GPU they are of: name <system> for predictions."
                      : "The traces are of different GPUs: name <system> for predictions.");
    return;
  }
  const auto machines = machine_identities(data_directory());
  std::string gpu = GpuIdentities::shipped()->gpu_named(*gpus.begin());
  if (gpu.empty()) gpu = *gpus.begin();  // as the traces of a plan name it
  const auto system = machines.systems.find(gpu);
  if (system == machines.systems.end()) {
    note(fmt::format("No machine is usual for the traces' GPU, {}: name <system> for predictions.", *gpus.begin()));
    return;
  }
  system_ = std::make_shared<const System>(load_system(system->second));
  if (const auto bridge = machines.bridges.find(gpu); bridge != machines.bridges.end()) {
    System pair = load_system(bridge->second);
    if (sold_joined(pair, world_)) system_ = std::make_shared<const System>(std::move(pair));
  }
  guessed_ = true;
  one_node_ = world_ > std::max(system_->gpus_per_node, system_->domain);
  if (one_node_)
    note(fmt::format("The job has {} ranks on several nodes, whose network no trace names: add <system> to predict what crosses it.",
                     world_));
}

void TraceMachine::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

int TraceMachine::nodes_of(const timeline::Group& group) const {
  if (group.said.nodes > 0) return group.said.nodes;
  if (system_ == nullptr || group.said.ranks.empty()) return 0;
  std::set<int> nodes;
  for (const int rank : group.said.ranks) nodes.insert(rank / system_->gpus_per_node);
  return static_cast<int>(nodes.size());
}

std::vector<std::string> TraceMachine::tiers_of(const timeline::Group& group) const {
  std::vector<std::string> out;
  const int nodes = nodes_of(group);
  if (system_ == nullptr || nodes == 0 || group.said.size < 2) return out;
  std::set<int> domains;
  for (const int rank : group.said.ranks) domains.insert(rank / std::max(system_->domain, system_->gpus_per_node));
  const auto add = [&](TierRole role) {
    if (const Tier* tier = system_->tier(role)) out.emplace_back(tier->name.view());
  };
  if (std::ssize(domains) < group.said.size) add(TierRole::scale_up);
  if (domains.size() > 1) {
    add(TierRole::nic);
    add(TierRole::network);
  }
  return out;
}

std::optional<Expected> TraceMachine::exchange(const timeline::Group& group, Moves moves) {
  if (!request_.tokens || !request_.hidden || !request_.experts || !request_.top_k) {
    note("What an exchange of experts moves, no trace says: add <tokens>, <hidden>, <experts> and <top_k> to predict it.");
    return std::nullopt;
  }
  MoeRequest asked;
  asked.phase = moves == Moves::moe_dispatch ? MoePhase::dispatch : MoePhase::combine;
  asked.system.value = system_;
  asked.tokens = request_.tokens;
  asked.hidden = request_.hidden;
  asked.experts = request_.experts;
  asked.top_k = request_.top_k;
  asked.groups = request_.groups;
  asked.group_limit = request_.group_limit;
  asked.ranks = group.said.size;
  asked.nodes = nodes_of(group);
  const MoeAnswer found = answer(asked);
  return Expected{found.time.value(), found.interval.first.value(), found.interval.second.value()};
}

std::optional<Expected> TraceMachine::expect(const timeline::Group& group, const timeline::Call& call) {
  if (system_ == nullptr) return std::nullopt;
  int nodes = nodes_of(group);
  if (call.moves == Moves::send_recv) {
    std::set<int> places;
    for (const timeline::Part& part : call.parts) places.insert(part.rank / std::max(system_->domain, system_->gpus_per_node));
    nodes = places.size() > 1 || (call.parts.size() < 2 && nodes > 1) ? 2 : 1;
  }
  if (nodes > 1 && one_node_) return std::nullopt;
  const auto [at, fresh] = known_.try_emplace({call.moves, call.bytes, group.said.size, nodes, call.type.width});
  if (!fresh) return at->second;
  try {
    if (call.moves == Moves::moe_dispatch || call.moves == Moves::moe_combine) return at->second = exchange(group, call.moves);
    const auto collective = collective_of(call.moves);
    if (!collective || !(call.bytes > 0)) return std::nullopt;
    Operation operation{.collective = *collective,
                        .bytes = Bytes::from_value(call.bytes),
                        .ranks = group.said.size,
                        .nodes = nodes,
                        .dtype = timeline::data_type_of(call.type)};
    if (call.moves == Moves::send_recv) {
      operation = SendRecv{.bytes = operation.bytes, .path = nodes > 1 ? Path::nic : Path::gpu_gpu, .ranks = 2};
    } else if (group.said.size < 2) {
      return std::nullopt;
    }
    const Prediction p = predict(*system_, operation);
    return at->second = Expected{p.seconds, p.low, p.high, least_time(*system_, operation), p.basis};
  } catch (const RequestError& error) {
    note(fmt::format("No prediction of some calls: {}.", error.what()));
    return std::nullopt;
  }
}

}  // namespace fabricost::observe::detail
