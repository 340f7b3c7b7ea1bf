#pragma once
/// Bodies of ring.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/ring.hpp>

namespace fabricost::core::detail {

/// An operation's rate relative to all_gather: RS mrs2, AR mar, others 1.
FABRICOST_BODY double simple_rate_factor(const SimpleConstants& c, Collective op) {
  if (op == Collective::all_reduce) return c.all_reduce_rate;
  return op == Collective::reduce_scatter || op == Collective::reduce ? c.reduce_scatter_rate : 1;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Line price_ring(const Schedule& schedule, const Fabric& fabric, const ScaleUpConstants& c, Protocol protocol, int channels,
                               bool byte_wide) {
  const double n = fabric.ranks();
  const double k = schedule.steps();
  double forwards = 0, reducing = 0, message = 0;
  for (const Phase& p : schedule) {
    forwards += p.forwards;
    reducing += p.reduces;
    message = p.message;
  }
  const double bytes = schedule.bytes(0);
  const double wide = byte_wide && reducing > 0 ? 1 : 0;
  const double heavier = 1 + c.int8_volume * wide;
  const TunerTables& version = tables_of(fabric.tuner);
  const bool rooted = is_rooted(schedule.collective);
  const bool no_copies = rooted && n <= 2;  // one rank sends, the other receives, and none passes on what it keeps
  const double kept = rooted ? 1 / server_ranks : message;  // all of S passes every rank, so that its copies do not shrink with more ranks
  const double waits = fabric.back_to_back && rooted ? std::min(1.0, k) : k;
  const bool gathers = gathers_or_scatters(schedule.collective);
  const double slower = gathers ? version.gather_share : 1;
  const double copying = fabric.full_rate > 0 ? fabric.inner_rate / fabric.full_rate : 1;  // inside a GPU, however few of its links lead to ranks

  Line line;
  line.add_base_part(TermKind::launch, 0, version.launch_share * slower, c.launch);
  if (protocol == Protocol::ll) {
    const auto& ll = c.ll;
    line.add_base_part(TermKind::steps, 0, waits * slower, with_latency(ll.hop, fabric.inner_latency_shift));
    const double threads = ll.chunk * n;  // S at which one channel has work for all its threads
    line.add_ramp({.shape = Ramp::Shape::square,
               .amplitude = slower * (ll.full_threads + version.ll_forward_share * ll.forward * forwards +
                                      (ll.reduce + ll.reduce_int8 * wide) * reducing),
               .per_byte = 1 / threads});
    if (version.channel_start > 0)
      line.add_ramp({.shape = Ramp::Shape::linear, .amplitude = channels * version.channel_start, .per_byte = 1 / (threads * channels)});
    else
      line.add_ramp({.shape = Ramp::Shape::channels,
                 .amplitude = slower * ll.channels_cost,
                 .per_byte = 1 / threads,
                 .limit = static_cast<double>(channels)});
    line.chunk = threads * channels;
    line.chunk_seconds = slower * (bytes / message + 1) * ll.chunk / (ll.channel_share * fabric.inner_rate / channels);
    line.chunk_share = ll.chunk_share;
  } else if (protocol == Protocol::ll128) {
    const double rate = c.ll128.rate_share * c.simple.rate_share * fabric.inner_rate;
    line.add_base_part(TermKind::launch, 0, channels, version.channel_start);
    line.add_base_part(TermKind::steps, 0, waits * slower, with_latency(c.ll.hop, fabric.inner_latency_shift));
    line.add_latency_part(TermKind::floor, 0, slower, c.ll128.floor);
    line.overlap = c.ll128.overlap;
    line.add_rate_part(TermKind::wire, 0, bytes * heavier, 1 / rate);
    if (!no_copies) line.add_rate_part(TermKind::copy, 0, c.ll128.drain * kept * heavier * copying, 1 / rate);
  } else {
    const auto& s = c.simple;
    const double rate = detail::simple_rate_factor(s, schedule.collective) * s.rate_share * fabric.inner_rate;
    const double easier = slower * (1 - (1 - s.reduce_latency) * (k > 0 ? reducing / k : 0));  // rho G
    line.add_latency_part(TermKind::launch, 0, channels, version.channel_start);
    line.add_latency_part(TermKind::floor, 0, easier, s.floor);
    const double shorter = n > server_ranks ? std::pow(server_ranks / n, c.form.rack_hop_power) : 1;
    line.add_latency_part(TermKind::steps, 0, easier * waits * shorter, with_latency(s.hop, fabric.inner_latency_shift));
    line.overlap = s.overlap;
    line.add_rate_part(TermKind::wire, 0, bytes * heavier, 1 / rate);
    const double copies = no_copies ? 0 : version.local_copies;
    line.add_rate_part(TermKind::copy, 0, copies * s.drain * kept * heavier * copying, 1 / rate);
    line.early_rate = copies * s.cold_copy * kept * heavier / rate;
    line.early = channels * c.form.ring_cold_size / kept;
  }
  return line;
}

}  // namespace fabricost::core
