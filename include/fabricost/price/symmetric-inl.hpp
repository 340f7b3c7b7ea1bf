#pragma once
/// Bodies of symmetric.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/custom_reduce-inl.hpp>
#include <fabricost/price/symmetric.hpp>

namespace fabricost::core {

FABRICOST_BODY Line price_symmetric(CollectiveKernel kernel, const Fabric& f, const CustomConstants& c, WindowKernel how) {
  namespace k = prior::ways;
  const double n = f.ranks(), rate = f.switched ? f.full_rate : f.inner_rate;
  const double link = detail::bus_of_server / detail::multicast_byte(server_ranks, rate, c.multicast);
  Line line;
  if (kernel == CollectiveKernel::any_buffer) {
    line.overlap = k::any_overlap;
    line.add_latency_part(TermKind::launch, 0, 1, k::any_start);
    line.add_latency_part(TermKind::steps, 0, std::log2(n) - 1, k::any_hop);
    line.add_rate_part(TermKind::wire, 0, n, k::any_kib / kibibyte);
    line.min = (n - 1) / f.full_rate;
    return line;
  }
  if (kernel == CollectiveKernel::any_buffer_two_shot) {
    line.add_base_part(TermKind::launch, 0, 1, k::any_two_start);
    line.add_base_part(TermKind::steps, 0, std::log2(n) - 1, k::any_two_hop);
    line.min = 2 * (n - 1) / n / f.full_rate;
    line.add_rate_part(TermKind::wire, 0, 1, std::max(k::any_two_kib / kibibyte, line.min));
    return line;
  }
  if (kernel == CollectiveKernel::window_exchange && how.gathers && how.barriers) {
    const bool newer = f.generation >= Generation::blackwell;
    line.add_base_part(TermKind::launch, 0, 1, newer ? k::gather_new_start : k::gather_start);
    line.min = (n - 1) / n / rate;
    line.add_rate_part(TermKind::wire, 0, 1, line.min / (newer ? k::gather_new_share : k::gather_share));
    return line;
  }
  line.overlap = k::overlap;
  const double own = kernel == CollectiveKernel::window_one_shot ? 1 : kernel == CollectiveKernel::window_two_shot ? 1 / n : 0;
  const double parts = (n - 1) / n;  // crossing the links, as B counts them
  const double crossing = kernel == CollectiveKernel::window_one_shot ? n - 1 : kernel == CollectiveKernel::window_two_shot ? 2 * parts : parts;
  const double repeated = kernel == CollectiveKernel::window_flags ? k::flags_bytes : 1;
  line.add_latency_part(TermKind::launch, 0, 1, k::one_shot);
  if (kernel == CollectiveKernel::window_two_shot) {
    line.add_latency_part(TermKind::steps, 0, 1, k::two_shot - k::one_shot);
    if (how.barriers) line.add_latency_part(TermKind::floor, 0, 1, k::barrier);
  } else if (kernel != CollectiveKernel::window_one_shot) {
    line.add_latency_part(TermKind::steps, 0, n, k::peer);
    if (kernel == CollectiveKernel::window_exchange && how.barriers) line.add_latency_part(TermKind::floor, 0, n, k::signal);
  }
  const double by_blocks = how.blocks > 0 ? own * k::block_kib / kibibyte / how.blocks : 0;
  line.add_rate_part(TermKind::wire, 0, 1, norm(repeated * crossing / link, by_blocks, c.form.rate_overlap));
  line.min = (kernel == CollectiveKernel::window_two_shot && f.in_switch ? std::min(1 + 1 / n, crossing) : crossing) / rate;
  return line;
}

}  // namespace fabricost::core
