#pragma once
/// \file traffic.hpp
/// The load that one collective puts on every link of a machine: bytes per byte of its size S, from the
/// messages of its schedule along their real routes.
///
/// Each algorithm (algorithms/*.hpp) defines who sends what to whom: step by step, one partner at a time, or
/// with the counter's sends, which support rings along wires, channels per NIC, and reductions in switches.
///
/// Volumes per rank equal those of the schedules (a test compares them). Exchanges are counted by groups
/// instead of pairs: n ranks in d domains cost n x NICs + levels, so 16,384 ranks are quick.

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/network/traffic_exchange.hpp>
#include <fabricost/network/traffic_in_network.hpp>
#include <fabricost/network/traffic_rings.hpp>

namespace fabricost::core {

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
  const unsigned filled = filled_axes(ranks);
  const auto phases = [&](const Levels& levels) {
    if (filled == 0) return schedule_by<A>(collective, Connectivity{levels});
    std::vector<int> dims;
    unsigned open = 0;
    for (std::size_t axis = 0; axis < t_.dims.size(); ++axis) {
      if ((filled >> axis & 1U) == 0) continue;
      open |= (t_.open_axes >> axis & 1U) << dims.size();
      dims.push_back(t_.dims[axis]);
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

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/network/traffic-inl.hpp>
#endif
