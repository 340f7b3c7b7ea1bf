#pragma once
/// Bodies of custom_reduce.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/custom_reduce.hpp>

#include <algorithm>

namespace fabricost::core::detail {

FABRICOST_BODY double per_byte(double share, double rate, double kib, const CustomForm& form) {
  return norm(1 / (share * rate), kib / 1024, form.rate_overlap);
}

/// Bytes of S that a ring of 8 sends.
inline constexpr double bus_of_server = 2 * (server_ranks - 1) / server_ranks;

/// Seconds per byte where the switch adds and multicasts, over links of a rate: (1 + 1/n) of S cross them, and a rank adds S/n with the
/// loads its blocks have in flight. `share` gives the bus bandwidth of 8 ranks.
inline double multicast_byte(double n, double rate, const TwoShotConstants& k) {
  const double more = (1 + 1 / n) / (1 + 1 / server_ranks);  // than 8 ranks move
  return std::max(bus_of_server * more / (k.share * rate), k.kib / 1024 / n);
}

/// What two shots take beside their bytes.
inline Line two_trips(const Fabric& f, const TwoShotConstants& k) {
  Line line;
  line.overlap = k.overlap;
  line.add_base_part(TermKind::launch, 0, 1, k.start);
  line.add_latency_part(TermKind::floor, 0, 1, k.floor);
  line.add_latency_part(TermKind::steps, 0, std::log2(f.ranks()) - 1, k.hop);
  return line;
}

/// Grid of vLLM's kernel (vllm-project/vllm: csrc/custom_all_reduce.cuh; SGLang's is the same).
inline constexpr double pull_blocks = 36, pull_blocks_amd = 16, pull_threads = 512, pull_thread_bytes = 16;

/// S bytes of a rank that one round of that grid reduces.
inline double pull_round(Generation g) {
  const bool amd = !is_nvidia(g) && g < Generation::tpu;
  return (amd ? pull_blocks_amd : pull_blocks) * pull_threads * pull_thread_bytes;
}

/// A kernel whose grid takes its bytes in rounds: as far as loads limit it, not the link, the last takes as long as a full one.
/// \param line with the wire as its only rate \param round bytes of S \param loads seconds per byte of S that loads in flight need
inline Line in_rounds(Line line, double round, double loads, const CustomForm& form) {
  line.early_rate = line.rate;
  line.early = line.chunk = round;
  line.chunk_seconds = line.rate * round;
  line.chunk_share = std::pow(loads / line.rate, form.rate_overlap - 1);
  line.rate = 0;
  line.rate_parts = {};
  return line;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY double loads_of_torch(double n) { return n == 2 || n == 4 || n == 8 ? n / 2 : 1; }

FABRICOST_BODY Line price_one_shot(const Fabric& f, const OneShotConstants& k, const CustomForm& form, double loads) {
  const double n = f.ranks();
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, k.start);
  line.add_base_part(TermKind::steps, 0, std::log2(n) - 1, k.hop);
  line.add_ramp({.shape = Ramp::Shape::saturating, .amplitude = k.growth, .per_byte = 1 / form.growth_size});
  line.add_rate_part(TermKind::wire, 0, n - 1, detail::per_byte(k.share, f.inner_rate, k.kib / loads, form));
  line.min = (n - 1) / f.inner_rate;
  return line;
}

FABRICOST_BODY Line price_two_shot(const Fabric& f, const TwoShotConstants& k, const CustomForm& form, double loads) {
  const double n = f.ranks();
  Line line = detail::two_trips(f, k);
  line.add_rate_part(TermKind::wire, 0, 2 * (n - 1) / n, detail::per_byte(k.share, f.inner_rate, k.kib / loads, form));
  line.min = 2 * (n - 1) / n / f.inner_rate;
  return line;
}

FABRICOST_BODY Line price_multicast(const Fabric& f, const TwoShotConstants& k) {
  const double n = f.ranks(), links = 1 + 1 / n;
  Line line = detail::two_trips(f, k);
  line.add_rate_part(TermKind::wire, 0, links, detail::multicast_byte(n, f.inner_rate, k) / links);
  line.min = links / f.full_rate;
  return line;
}

FABRICOST_BODY Line price_scattered_multicast(const Fabric& f, const Constants& c) {
  const double n = f.ranks(), links = (n - 1) / n + 1;
  Line line = detail::two_trips(f, c.custom.multicast);
  line.add_rate_part(TermKind::wire, 0, links, 1 / (c.scale_up.simple.rate_share * f.inner_rate));
  line.min = links / f.full_rate;
  return line;
}

FABRICOST_BODY Line price_custom(CollectiveKernel kernel, const Fabric& f, const Constants& constants) {
  const CustomConstants& c = constants.custom;
  const double n = f.ranks();
  switch (kernel) {
    case CollectiveKernel::library:
    case CollectiveKernel::window_one_shot:
    case CollectiveKernel::window_two_shot:
    case CollectiveKernel::window_exchange:
    case CollectiveKernel::window_flags:
    case CollectiveKernel::any_buffer:
    case CollectiveKernel::any_buffer_two_shot:
    case CollectiveKernel::copy_engine:
    case CollectiveKernel::copy_engine_multicast: break;  // symmetric.hpp, copy_engine.hpp
    case CollectiveKernel::pull_one_shot:
      return detail::in_rounds(price_one_shot(f, c.pull_one_shot, c.form, n - 1), detail::pull_round(f.generation),
                               c.pull_one_shot.kib / 1024, c.form);
    case CollectiveKernel::push_one_shot: return price_one_shot(f, c.push_one_shot, c.form);
    case CollectiveKernel::lamport_one_shot: return price_one_shot(f, c.lamport_one_shot, c.form);
    case CollectiveKernel::pull_two_shot:
      return detail::in_rounds(price_two_shot(f, c.pull_two_shot, c.form), n * detail::pull_round(f.generation),
                               2 * (n - 1) / n * c.pull_two_shot.kib / 1024, c.form);
    case CollectiveKernel::push_two_shot: return price_two_shot(f, c.push_two_shot, c.form);
    case CollectiveKernel::lamport_two_shot: return price_two_shot(f, c.lamport_two_shot, c.form);
    case CollectiveKernel::multicast: return price_multicast(f, c.multicast);
    case CollectiveKernel::scattered_multicast: return price_scattered_multicast(f, constants);
    case CollectiveKernel::symmetric_two_shot: return price_two_shot(f, c.symmetric_two_shot, c.form, loads_of_torch(f.ranks()));
  }
  return {};
}

FABRICOST_BODY HostCall host_call(double t, double bytes, double memory_rate, const CustomConstants& c) {
  return {t, c.host_launch, c.host_extra, memory_rate > 0 ? 2 * bytes / (c.host_copy * memory_rate) : 0, c.form.host_overlap};
}

}  // namespace fabricost::core
