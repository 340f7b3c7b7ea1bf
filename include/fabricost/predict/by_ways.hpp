#pragma once
/// A curve with the ways of choice/ways.hpp: their changes of the fabric and the lines, and the kernels that run instead.
///
///   nvls off    the switches do not reduce; nor do they what redop asks for where they cannot (collective.hpp)
///   pxn off     an exchange between domains crosses rails: .42 of the NICs' rate (two p5, raw verbs)
///   windows     the fastest of the library's own choice and the kernels of price/symmetric.hpp, by price; a forced algorithm means its
///               kernel. (NCCL's tuner compares its own estimates of the same kernels.)
///   copy engines  the faster of price/copy_engine.hpp's two, at every size: the policy that asks for them takes them even where they lose
///   relay       from 8 MiB over a link on: links to d peers and i idle GPUs carry 1 + .33 i/d of the rate
///   nic_block   of k NICs of a GPU one takes a block F of a message of m bytes, then the next: the first has
///                   load = F floor(m / kF) + min(m mod kF, F)          and a step waits k load / m as long as evenly spread
///   put         price/put.hpp

#include <fabricost/choice/choice.hpp>
#include <fabricost/choice/fastest_stretches.hpp>
#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/price/copy_engine.hpp>
#include <fabricost/price/price.hpp>
#include <fabricost/price/put.hpp>
#include <fabricost/price/symmetric.hpp>

#include <limits>

namespace fabricost::core {

/// Why the kernels over windows cannot run, or nullptr. What they add: NVIDIA/nccl src/symmetric.cc, ncclSymImplemented.
[[nodiscard]] const char* why_no_windows(const Fabric& f, const Operation& op, const Choice& choice);

/// NICs of the same place in every node share a leaf, or a network of their own.
[[nodiscard]] bool on_rails(const System& system);

[[nodiscard]] Refusal no_rails(const System& system);

/// Rails whose leaves nothing joins: a message to another rail has no way but over the GPUs (PXN).
[[nodiscard]] bool rails_apart(const System& system);

[[nodiscard]] Refusal no_way_between_rails(const System& system);

}  // namespace fabricost::core

namespace fabricost::core::detail {

/// \throws Refusal where a way cannot be gone
void check_ways(const Fabric& f, const System& system, const Operation& op, const Choice& choice);

/// Changes the fabric as the ways require.
void use_ways(Fabric& f, const System& system, const Operation& op, const Ways& w);

/// Makes a line wait for the NIC with most of each message.
void fill_nics_in_blocks(Line& line, const Fabric& f, Collective op, Algorithm algorithm, double block);

/// The rate of a mesh with idle GPUs that pass messages on.
[[nodiscard]] Fabric with_relays(Fabric f);

/// A kernel that may run instead of the library's choice.
struct WayKernel {
  Candidate candidate;
  Line line;
  double until = std::numeric_limits<double>::infinity();  ///< the first size at which it does not run
};
using WayKernels = FixedList<WayKernel, 4>;

[[nodiscard]] WayKernels kernels_of(const Fabric& f, const System& system, const Operation& op, const Choice& choice);

/// Adds the pieces of `from` that lie between two sizes.
template <class Curve>
void append_part(Curve& to, const Curve& from, double first, double until) {
  for (int i = 0; i < from.pieces(); ++i) {
    const double begins = from.threshold_bytes(i), ends = i + 1 < from.pieces() ? from.threshold_bytes(i + 1) : std::numeric_limits<double>::infinity();
    if (ends <= first || begins >= until) continue;
    const double inside = std::max(begins, first);
    to.append(from.ran_at(inside), from.line(inside), std::min(ends, until));
  }
}

/// The fastest of a curve and some kernels at every size.
template <class Curve>
[[nodiscard]] Curve fastest_of(const Curve& library, const WayKernels& kernels) {
  const auto pick = [&](double bytes) {
    int best = -1;
    double min = library.seconds(bytes);
    for (int i = 0; i < kernels.size(); ++i)
      if (const double t = kernels[i].line(bytes); bytes < kernels[i].until && t < min) min = t, best = i;
    return best;
  };
  Curve out{library.fabric()};
  const auto add = [&](int which, double from, double until) {
    if (which < 0)
      append_part(out, library, from, until);
    else
      out.append(kernels[which].candidate, kernels[which].line, until);
  };
  const auto nearer = [&](double at, double next) {
    for (int i = 0; i < library.pieces(); ++i) next = towards_jumps(library.line(library.threshold_bytes(i)), at, next);
    for (int i = 0; i < kernels.size(); ++i) {
      next = towards_jumps(kernels[i].line, at, next);
      next = towards_size(kernels[i].until, at, next);
    }
    return next;
  };
  walk_fastest(pick, nearer, add);
  return out;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

/// \param on compiles the library's choice on a fabric \throws Refusal where a way cannot be gone; as compile
template <class On>
[[nodiscard]] auto compile_by_ways(Fabric f, const System& system, const Operation& op, const Choice& choice, On&& on) {
  constexpr double forever = std::numeric_limits<double>::infinity();
  const Ways& w = choice.ways;
  detail::use_ways(f, system, op, w);
  detail::check_ways(f, system, op, choice);
  using Compiled = decltype(on(f));
  Compiled out{f};
  if (w.put != Put::none || w.gin) {
    out.append({Algorithm::direct, Protocol::simple}, price_put(f, w.gin, w.put == Put::signal ? 2 : 1, w.put != Put::local), forever);
    return out;
  }
  if (w.copy_engine) {
    const bool captured = choice.launch.mode == LaunchMode::graph;
    out.append(candidate_of(CollectiveKernel::copy_engine), price_copy_engine(f, false, captured), forever);
    if (op.collective != Collective::all_gather || !f.in_switch) return out;
    detail::WayKernels multicast;
    multicast.add({.candidate = candidate_of(CollectiveKernel::copy_engine_multicast), .line = price_copy_engine(f, true, captured)});
    return detail::fastest_of(out, multicast);
  }
  const detail::WayKernels kernels = detail::kernels_of(f, system, op, choice);
  if (w.symmetric && choice.algorithm) {  // no other at any size
    out.append(kernels[0].candidate, kernels[0].line, forever);
    detail::WayKernels others;
    for (int i = 1; i < kernels.size(); ++i) others.add(kernels[i]);
    return others.empty() ? out : detail::fastest_of(out, others);
  }
  out = on(f);
  if (w.nic_block > 0)
    out.change_lines([&](Candidate ran, Line& line) { detail::fill_nics_in_blocks(line, f, op.collective, ran.algorithm, w.nic_block); });
  if (w.relay) {
    const double peers = f.local() - 1, each = schedule_of(out.ran_at(prior::ways::relay_from).algorithm, op.collective, f).bytes(0) / peers;
    const Compiled relayed = on(detail::with_relays(f));
    Compiled both{f};
    const double from = prior::ways::relay_from / each;
    detail::append_part(both, out, 0, from);
    detail::append_part(both, relayed, from, forever);
    return both;
  }
  return kernels.empty() ? out : detail::fastest_of(out, kernels);
}

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/by_ways-inl.hpp>
#endif
