#pragma once
/// Bodies of exchange.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/exchange.hpp>

namespace fabricost::core {

FABRICOST_BODY double exchange_least(double n, const ScaleUpForm& form) {
  return form.exchange_peer * n * std::sqrt(std::min(n, form.exchange_peer_ranks));
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

FABRICOST_BODY double first_channels(double ranks, double channels) {
  double out = channels;
  while (out > 1 && out * ranks > channels) out /= 2;
  return std::max(1.0, out);
}

/// Sends that the most loaded channel carries, of `sends` over all channels.
FABRICOST_BODY double max_sends(double sends, double channels) { return std::ceil(sends / channels); }

/// Before NCCL 2.19.
FABRICOST_BODY void price_older_exchange(Line& line, const ExchangeConstants& x, const TunerTables& version, double bytes, double message,
                                         double rate, Protocol protocol) {
  if (protocol == Protocol::ll) {
    // half of the bytes that LL stores are flags: at most half of the Simple rate
    const double limit = version.exchange_ll_limit;
    line.add_ramp({.shape = Ramp::Shape::unbounded,
               .amplitude = std::max(x.ll_ramp, 2 * bytes / message * limit / rate),
               .per_byte = message / limit});
    return;
  }
  line.add_latency_part(TermKind::floor, 0, 1, x.floor);
  line.add_ramp({.shape = Ramp::Shape::linear,
             .inside = true,
             .amplitude = version.exchange_channels * version.exchange_channel_start,
             .per_byte = message / (version.exchange_channels * version.exchange_channel_size)});
  line.overlap = std::max(x.overlap, version.exchange_overlap);
  line.add_rate_part(TermKind::wire, 0, bytes, 1 / rate);
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Line price_exchange(const Schedule& schedule, const Fabric& fabric, const ScaleUpConstants& c, Protocol protocol) {
  const auto& x = c.all_to_all;
  const double n = std::max(2.0, fabric.local());
  const double bytes = schedule.bytes(0);
  const double message = schedule.begin()->message;
  const double peers = bytes / message;
  const bool alone = schedule.collective == Collective::send_recv;
  const TunerTables& version = tables_of(fabric.tuner);
  Line line;
  const double base = version.exchange_base_share * with_latency(x.base, fabric.inner_latency_shift);
  line.add_base_part(TermKind::launch, 0, 1, base);
  // doublings of ranks beyond a pair; a slower or faster tier affects each of them, including the pair
  line.add_base_part(TermKind::steps, 0, std::log2(n) - 1, with_latency(x.hop, fabric.inner_latency_shift));
  const double rate = x.rate_share * fabric.inner_rate * (alone ? 1 : fabric.inner_exchanges);
  if (has_own_kernels(version)) {
    detail::price_older_exchange(line, x, version, bytes, message, rate, protocol);
    return line;
  }
  const double channels = version.exchange_channels, sending = alone ? 1 : n;  // messages of a rank, its own part among them
  const double first = detail::first_channels(alone ? std::max<double>(fabric.communicator, n) : n, channels);
  const double many = alone ? 0 : std::max(0.0, exchange_least(n, c.form) - line.base);
  line.add_latency_part(TermKind::floor, 0, 1, many);
  if (protocol == Protocol::ll) {
    const double ring_channel = c.ll.channel_share * fabric.full_rate / channels;
    line.add_ramp({.shape = Ramp::Shape::linear,
               .inside = true,
               .amplitude = x.ll_ramp,
               .per_byte = message / tables_of(newest_tuner).exchange_ll_limit});
    line.overlap = c.form.exchange_peer_overlap;
    // a peer has more than one channel where every send has its own
    const double by_channels = detail::max_sends(sending, channels) * message / first / (x.ll_share * ring_channel);
    line.add_rate_part(TermKind::wire, 0, 1, std::max(by_channels, 2 * bytes / fabric.inner_rate));  // half of what LL stores is flags
    return line;
  }
  line.add_latency_part(TermKind::floor, 0, 1, x.floor);
  line.add_ramp({.shape = Ramp::Shape::linear, .inside = true, .amplitude = x.ramp, .per_byte = message / c.form.exchange_ramp_size});
  line.overlap = x.overlap;
  // with `each` channels a peer: a slower rate where channels are idle, the own part copied by as many
  const double channel = std::max(c.form.exchange_chunk / x.channel, rate / channels);
  const auto carried = [&](double each) {
    const double sends = sending * each;
    return sends / detail::max_sends(sends, channels) * channel;
  };
  const auto wire = [&](double each) { return bytes / std::min(rate, carried(each)); };
  const double copying = rate * fabric.full_rate / fabric.inner_rate;  // inside a GPU, however few of its links lead to ranks
  const auto own = [&](double each) { return alone ? 0.0 : x.self_copy * message * first / each / copying; };
  if (c.form.exchange_chunk / x.channel >= rate / channels && carried(first) < rate) line.kernels_until = 1e30;
  line.add_rate_part(TermKind::wire, 0, bytes, wire(first) / bytes);
  if (!alone) line.add_rate_part(TermKind::copy, 0, x.self_copy * message, 1 / copying);
  double before = wire(first) + own(first);
  for (double each = 2 * first; each <= channels; each *= 2) {
    const double from = version.exchange_channel_size * each / 2 / message;  // S; that many bytes a channel still fit
    const double now = wire(each) + own(each), transfer = wire(each / 2) - wire(each);
    line.add_jump_held_after(from, before, now, before > now ? 1 - transfer / (before - now) : 0);  // until the faster rate has caught up
    if (carried(each) >= rate) line.kernels_until = std::min(line.kernels_until, from * std::max(1.0, before / now));
    before = now;
  }
  if (!alone) {
    line.early_rate = x.cold_copy * peers * message / rate;
    line.early = c.form.exchange_cold_size;
  }
  return line;
}

}  // namespace fabricost::core
