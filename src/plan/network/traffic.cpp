/// Bodies of traffic.hpp: who sends what to whom, as an algorithm says it.

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/plan/network/traffic.hpp>

namespace fabricost::plan {

void TrafficCounter::send(int from, int to, double bytes) {
  for_route(t_, from, to, 1, options_, add(bytes));
  if (t_.levels.empty() || t_.levels.back().pairs < 0 || !options_.adaptive || t_.domain_of(from) == t_.domain_of(to)) return;
  const NetworkLevel& top = t_.levels.back();
  const int a = t_.node_of(from) / top.span, b = t_.node_of(to) / top.span;
  if (a != b) add(bytes)(t_.link(top.pairs, a * top.children + b), 1);
}

TrafficCounter::Domains TrafficCounter::by_domain(std::span<const int> ranks) const {
  Domains out;
  std::map<int, std::size_t> place;
  for (const int gpu : ranks) {
    const auto [at, fresh] = place.try_emplace(t_.domain_of(gpu), out.members.size());
    if (fresh) out.members.emplace_back();
    out.members[at->second].push_back(gpu);
    out.max = std::max(out.max, out.members[at->second].size());
  }
  return out;
}

void TrafficCounter::check(std::span<const int> ranks) const {
  Group sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= t_.gpus()))
    throw RequestError(t_.name + ": GPU " + std::to_string(sorted.front() < 0 ? sorted.front() : sorted.back()) + " of 0 to " +
                       std::to_string(t_.gpus() - 1) + " does not exist");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw RequestError(t_.name + ": GPU " + std::to_string(*twice) + " is named twice in one collective");
}

/// Counts the bytes each rank sends to each partner over all steps. Partners are numbered in the order of
/// `ranks`, or domain by domain for an algorithm that goes level by level over equal domains.
template <class A>
void TrafficCounter::step_by_step(Collective collective, std::span<const int> ranks) {
  if constexpr (requires { A::check_partners(0); }) A::check_partners(static_cast<int>(ranks.size()));
  Levels levels{static_cast<int>(ranks.size())};
  Group order(ranks.begin(), ranks.end());
  if constexpr (A::level_by_level) {
    const Domains domains = by_domain(ranks);
    if (domains.even()) {
      levels = Levels{static_cast<int>(domains.max), static_cast<int>(domains.members.size())};
      order.clear();
      for (const Group& d : domains.members) order.insert(order.end(), d.begin(), d.end());
    }
  }
  const int steps = A::steps(collective, levels);
  std::vector<algorithms::Message> sent;  // of one rank
  for (std::size_t from = 0; from < order.size(); ++from) {
    sent.clear();
    for (int step = 0; step < steps; ++step) {
      const algorithms::Message message = A::partner(collective, levels, step, static_cast<int>(from));
      if (message.to < 0) continue;
      const auto known = std::find_if(sent.begin(), sent.end(), [&](const algorithms::Message& m) { return m.to == message.to; });
      if (known == sent.end())
        sent.push_back(message);
      else
        known->bytes += message.bytes;
    }
    for (const algorithms::Message& m : sent) send(order[from], order[static_cast<std::size_t>(m.to)], m.bytes);
  }
}

/// \return bytes that leave one rank
template <class A>
double TrafficCounter::count_by(Collective collective, std::span<const int> ranks) {
  if (const char* why = A::not_for(collective)) throw RequestError(why);
  const TorusBlock block = block_of(t_, ranks);
  const auto phases = [&](const Levels& levels) {
    if (block.axes() == 0) return schedule_by<A>(collective, Connectivity{levels});
    std::vector<int> dims;
    unsigned open = 0;
    for (std::size_t axis = 0; axis < t_.dims.size(); ++axis) {
      if (block.length[axis] < 2) continue;
      open |= (block.length[axis] < t_.dims[axis] ? 1U : t_.open_axes >> axis & 1U) << dims.size();
      dims.push_back(block.length[axis]);
    }
    return schedule_by<A>(collective, Connectivity{levels, dims, t_.wrap, static_cast<unsigned char>(open)});
  };
  double sent = 0;
  if constexpr (A::sent_per_rank == algorithms::SentPerRank::one_group) {
    sent = phases(Levels{static_cast<int>(ranks.size())}).bytes(0);
  } else {
    const Domains domains = by_domain(ranks);
    const Schedule s = phases(Levels{static_cast<int>(domains.max), static_cast<int>(domains.members.size())});
    sent = s.bytes(0);
    if (A::sent_per_rank == algorithms::SentPerRank::inside_and_out) sent += s.bytes(1) / static_cast<double>(domains.max);
  }
  if constexpr (requires { A::traffic(*this, collective, ranks, sent); })
    A::traffic(*this, collective, ranks, sent);
  else
    step_by_step<A>(collective, ranks);
  return sent;
}

Traffic TrafficCounter::count(Collective collective, Algorithm algorithm, std::span<const int> ranks) {
  for (const int link : touched_)
    bytes_[static_cast<std::size_t>(link)] = flows_[static_cast<std::size_t>(link)] = 0;  // left by a count that was refused
  touched_.clear();
  check(ranks);
  Traffic out;
  if (ranks.size() <= 1) return out;
  if (collective == Collective::send_recv && ranks.size() == 2) {
    send(ranks[0], ranks[1], 1);
    out.sent_by_rank = 1;
  } else if (collective == Collective::send_recv) {  // every rank to the next
    for (std::size_t i = 0; i < ranks.size(); ++i) send(ranks[i], ranks[(i + 1) % ranks.size()], 1);
    out.sent_by_rank = 1;
  } else {
    out.sent_by_rank = with_algorithm(algorithm, [&](auto a) { return count_by<decltype(a)>(collective, ranks); });
  }
  std::sort(touched_.begin(), touched_.end());
  out.loads.reserve(touched_.size());
  for (const int link : touched_) {
    const auto l = static_cast<std::size_t>(link);
    const bool apart = options_.adaptive && t_.block_of(link).kind == LinkKind::groups;
    (apart ? out.between : out.loads).push_back({link, bytes_[l], flows_[l]});
    bytes_[l] = flows_[l] = 0;
  }
  touched_.clear();
  return out;
}

}  // namespace fabricost::plan
