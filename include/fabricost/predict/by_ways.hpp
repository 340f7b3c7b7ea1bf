#pragma once
/// \file by_ways.hpp
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
#include <fabricost/choice/walk.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/price/copy_engine.hpp>
#include <fabricost/price/put.hpp>
#include <fabricost/price/symmetric.hpp>
#include <fabricost/refusal.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace fabricost::detail {

[[nodiscard]] constexpr bool gathers_or_scatters(Collective op) { return op == Collective::all_gather || op == Collective::reduce_scatter; }

/// The library is older than a release of NCCL, 2.x, by its own or by its tables.
[[nodiscard]] inline bool came_before(const Fabric& f, double release) {
  return lacks(f, release) || f.tuner < tuner_of_version(2, static_cast<int>(release));
}

/// Why the kernels over windows cannot run, or nullptr. What they add: NVIDIA/nccl src/symmetric.cc, ncclSymImplemented.
[[nodiscard]] inline const char* why_no_windows(const Fabric& f, const Operation& op, const Choice& choice) {
  if (f.library != Library::nccl) return "are NCCL's";
  const bool gathers = gathers_or_scatters(op.collective);
  if (op.collective != Collective::all_reduce && op.collective != Collective::all_to_all && !gathers)
    return "are known for all_reduce, all_gather, reduce_scatter and all_to_all";
  if (came_before(f, prior::ways::symmetric_from)) return "need NCCL 2.27 or later: <library=nccl-2.27>";
  if (f.over_pcie || f.neighbours_only) return "need GPUs that reach each other over NVLink";
  if (f.domains() > 1) return "stay inside one NVLink domain; take ranks of one";
  if (f.ranks() < 2) return "need a peer";
  const bool adds = op.dtype != DataType::int8 && op.dtype != DataType::double_precision && choice.ways.redop == Reduction::sum;
  if (reduces(op.collective) && !adds) return "add values of type float, half, bfloat16 or fp8, nothing else";
  if (!choice.algorithm) return nullptr;
  const bool reduces = *choice.algorithm == Algorithm::one_shot || *choice.algorithm == Algorithm::two_shot;
  if (op.collective == Collective::all_reduce ? !reduces : *choice.algorithm != Algorithm::direct)
    return "run all_reduce as one_shot or two_shot, others as direct; take one of those, or leave <algorithm> out";
  return nullptr;
}

/// GPUs of a mesh that take no part: of the links of a GPU, those to no rank of the communicator.
[[nodiscard]] inline double idle_beside(const Fabric& f) {
  const double others = f.full_rate / f.inner_rate * (f.local() - 1);  // GPUs that a GPU has links to
  return std::round(others - (std::max<double>(f.communicator, f.local()) - 1));
}

/// Why copy engines cannot move it, or nullptr.
[[nodiscard]] inline const char* why_no_copy_engine(const Fabric& f, const Operation& op, const Choice& choice) {
  if (f.library != Library::nccl) return "are known of NCCL alone";
  const bool known = op.collective == Collective::all_gather || op.collective == Collective::all_to_all;
  if (!known) return "move all_gather and all_to_all (NCCL's also scatter and gather): they do not reduce, and NCCL broadcasts by kernels";
  if (came_before(f, prior::ways::copy_engine_from)) return "need NCCL 2.28 or later: <library=nccl-2.28>";
  if (f.over_pcie || f.domains() > 1) return "stay inside one NVLink domain; take ranks of one";
  if (f.ranks() < 2) return "need a peer";
  if (choice.ways.symmetric) return "replace the kernels over windows; leave <symmetric> out";
  return choice.algorithm || choice.protocol ? "run no algorithm of NCCL's; leave <algorithm> and <protocol> out" : nullptr;
}

/// NICs of the same place in every node share a leaf, or a network of their own.
[[nodiscard]] inline bool on_rails(const System& system) {
  for (const Tier& tier : system.tiers)
    if ((tier.role == TierRole::nic || tier.role == TierRole::network) && tier.kind == TierKind::rails) return true;
  return false;
}

[[nodiscard]] inline Refusal no_rails(const System& system) {
  return Refusal(system.name + ": <pxn>: without rails no message changes GPU to reach one; leave it out, or name a machine whose NICs or "
                 "leaves are on rails");
}

/// \throws Refusal where a way cannot be gone
inline void check_ways(const Fabric& f, const System& system, const Operation& op, const Choice& choice) {
  const Ways& w = choice.ways;
  const bool between = op.collective == Collective::send_recv && op.path == Path::nic;
  if (w.redop != Reduction::sum && !reduces(op.collective))
    throw Refusal("<redop>: " + std::string{name(op.collective)} + " combines no values; leave it out");
  if (w.symmetric)
    if (const char* why = why_no_windows(f, op, choice))
      throw Refusal(system.name + ": <symmetric>: kernels over symmetric windows " + why);
  if (w.copy_engine)
    if (const char* why = why_no_copy_engine(f, op, choice)) throw Refusal(system.name + ": <copy_engine>: copy engines " + why);
  if ((w.put != Put::none || w.gin) && !between)
    throw Refusal("<put> and <gin> are known for messages between nodes: send_recv with <path=nic> (kernels of experts use them anyway)");
  if (const Tier* const nic = system.tier(TierRole::nic); w.gin && nic != nullptr && nic->transport.network == NetworkKind::cloud)
    throw Refusal(system.name + ": <gin>: GPUs post to cards of InfiniBand and RoCE, not to those of " + std::string{name(nic->transport)});
  if (!w.nvls && choice.algorithm && (*choice.algorithm == Algorithm::nvls || *choice.algorithm == Algorithm::nvls_tree))
    throw Refusal(system.name + ": <nvls=off> turns off the reduction in the switches that " + std::string{name(*choice.algorithm)} +
                  " is; leave one of the two out");
  if (!w.pxn && !on_rails(system)) throw no_rails(system);
  if (w.relay && (f.switched || f.over_pcie || f.neighbours_only || f.domains() > 1 || !(f.full_rate > f.inner_rate)))
    throw Refusal(system.name + ": <relay> needs idle GPUs of a full mesh: fewer ranks than GPUs, each pair with links of its own");
  if (w.relay && idle_beside(f) <= 0)
    throw Refusal(system.name + ": <relay> needs idle GPUs, and all of the mesh take part; take fewer <ranks>");
  if (w.nic_block > 0 && f.local() > 1)
    throw Refusal(system.name +
                  ": <nic_block> needs ranks that meet through their NICs alone: one of each node, as many <ranks> as <nodes>");
  if (w.nic_block > 0 && !(f.nics > 1))
    throw Refusal(system.name +
                  ": <nic_block> needs several NICs for each GPU; more <nodes> than one, and a machine of more NICs than GPUs, as with "
                  "endpoints of its NIC tier set to " +
                  std::to_string(2 * system.gpus_per_node));
  if (w.nic_block > 0 && is_exchange(op.collective))
    throw Refusal("<nic_block> is known for rings, halving and doubling, not for exchanges");
}

/// Exchanges between rails take the uplinks even below one leaf: of the (1 - 1/N) that leave a domain, all but the
/// R-th part for the m - 1 other domains of the same leaf, R rails, over uplinks of 1/o of the NICs' rate.
inline void cross_rails(Fabric& f, const System& system) {
  const Tier* leaf = nullptr;
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    if (leaf != nullptr) {
      const double N = f.domains(), m = std::clamp(static_cast<double>(leaf->endpoints) / system.nodes_per_domain(), 1.0, N);
      const double port = leaf->bandwidth.value.value(), o = leaf->oversubscription * narrows(port, tier);
      const double share = (1 - 1 / N) / (o * (1 - 1 / N - (m - 1) / (N * f.nics)));
      if (share >= f.all_to_all_taper) return;
      f.all_to_all_taper = share;
      f.all_to_all_taper_tier = leaf->name;
      return;
    }
    if (tier.kind != TierKind::rails) return;
    leaf = &tier;
  }
}

/// Changes the fabric as the ways require.
inline void use_ways(Fabric& f, const System& system, const Operation& op, const Ways& w) {
  if (!w.nvls || (reduces(op.collective) && w.redop != Reduction::sum && !combines_in_switch(op.dtype, w.redop))) f.in_switch = false;
  if (!w.pxn && op.collective == Collective::all_to_all && f.domains() > 1 && f.local() > 1) {
    f.all_to_all_taper *= prior::ways::cross_rail;
    cross_rails(f, system);
  }
}

/// Makes a line wait for the NIC with most of each message.
inline void fill_nics_in_blocks(Line& line, const Fabric& f, Collective op, Algorithm algorithm, double block) {
  const Schedule schedule = schedule_of(algorithm, op, f);
  double rate = 0;  // of the NICs, evenly spread, for a byte of S
  for (const Part& part : line.rate_parts) rate += part.level > 0 ? part.value() : 0;
  const auto add = [&](double share, double repeats) {
    line.ramp({.shape = Ramp::Shape::blocks,
               .level = 1,
               .amplitude = rate / schedule.bytes(1) * repeats * block,
               .per_byte = share / block,
               .limit = f.nics});
  };
  const bool halves = algorithm == Algorithm::halving_doubling || algorithm == Algorithm::rabenseifner;
  const double twice = op == Collective::all_reduce ? 2 : 1;
  if (!halves) {
    const double share = schedule.begin()->message;
    add(share, schedule.bytes(1) / share);
    return;
  }
  add(0.5, twice);  // the two largest messages; the rest are S/4 together
  if (f.ranks() > 2) add(0.5 * 0.5, twice);
}

/// The rate of a mesh with idle GPUs that pass messages on.
[[nodiscard]] inline Fabric with_relays(Fabric f) {
  f.inner_rate *= 1 + prior::ways::relay_share * idle_beside(f) / (f.local() - 1);
  return f;
}

/// A kernel that may run instead of the library's choice.
struct WayKernel {
  Candidate candidate;
  Line line;
  double until = std::numeric_limits<double>::infinity();  ///< the first size at which it does not run
};
using WayKernels = FixedList<WayKernel, 4>;

[[nodiscard]] inline WayKernels kernels_of(const Fabric& f, const System& system, const Operation& op, const Choice& choice) {
  const Ways& w = choice.ways;
  WayKernels out;
  const auto add = [&](ReduceKernel kernel, double until = std::numeric_limits<double>::infinity()) {
    const Candidate c = candidate_of(kernel);
    if (choice.algorithm && *choice.algorithm != c.algorithm) return;
    out.add({c, price_symmetric(kernel, f, system.constants.custom, {.barriers = !w.barrier_free, .blocks = static_cast<double>(w.ctas)}),
             until});
  };
  if (w.symmetric && op.collective == Collective::all_reduce) {
    add(ReduceKernel::window_one_shot);
    add(ReduceKernel::window_two_shot);
  }
  if (w.symmetric && (op.collective == Collective::all_to_all || gathers_or_scatters(op.collective))) add(ReduceKernel::window_exchange);
  if (w.symmetric && gathers_or_scatters(op.collective)) add(ReduceKernel::window_flags);
  const bool alone = op.collective == Collective::all_reduce && f.library == Library::nccl && f.domains() <= 1 && f.ranks() > 1;
  if (w.any_buffer && alone && f.in_switch && !choice.algorithm && !choice.protocol) {
    const double beyond = std::nextafter(prior::ways::any_until, std::numeric_limits<double>::infinity());
    add(ReduceKernel::any_buffer, beyond);
    add(ReduceKernel::any_buffer_two_shot, beyond);
  }
  return out;
}

/// Adds the pieces of `from` that lie between two sizes.
template <class Curve>
void append_part(Curve& to, const Curve& from, double first, double until) {
  for (int i = 0; i < from.pieces(); ++i) {
    const double begins = from.threshold(i), ends = i + 1 < from.pieces() ? from.threshold(i + 1) : std::numeric_limits<double>::infinity();
    if (ends <= first || begins >= until) continue;
    const double inside = std::max(begins, first);
    to.append(from.ran(inside), from.line(inside), std::min(ends, until));
  }
}

/// The fastest of a curve and some kernels at every size.
template <class Curve>
[[nodiscard]] Curve fastest_of(const Curve& library, const WayKernels& kernels) {
  const auto pick = [&](double bytes) {
    int best = -1;
    double min = library(bytes);
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
    for (int i = 0; i < library.pieces(); ++i) next = towards_jumps(library.line(library.threshold(i)), at, next);
    for (int i = 0; i < kernels.size(); ++i) {
      next = towards_jumps(kernels[i].line, at, next);
      next = towards_size(kernels[i].until, at, next);
    }
    return next;
  };
  walk_fastest(pick, nearer, add);
  return out;
}

/// \param on compiles the library's choice on a fabric \throws Refusal where a way cannot be gone; as compile
template <class On>
[[nodiscard]] auto compile_by_ways(Fabric f, const System& system, const Operation& op, const Choice& choice, On&& on) {
  using Curve = decltype(on(f));
  constexpr double forever = std::numeric_limits<double>::infinity();
  const Ways& w = choice.ways;
  use_ways(f, system, op, w);
  check_ways(f, system, op, choice);
  Curve out{f};
  if (w.put != Put::none || w.gin) {
    out.append({Algorithm::direct, Protocol::simple}, price_put(f, w.gin, w.put == Put::signal ? 2 : 1, w.put != Put::local), forever);
    return out;
  }
  if (w.copy_engine) {
    const bool captured = choice.launch.mode == LaunchMode::graph;
    out.append(candidate_of(ReduceKernel::copy_engine), price_copy_engine(f, false, captured), forever);
    if (op.collective != Collective::all_gather || !f.in_switch) return out;
    WayKernels multicast;
    multicast.add({.candidate = candidate_of(ReduceKernel::copy_engine_multicast), .line = price_copy_engine(f, true, captured)});
    return fastest_of(out, multicast);
  }
  const WayKernels kernels = kernels_of(f, system, op, choice);
  if (w.symmetric && choice.algorithm) {  // no other at any size
    out.append(kernels[0].candidate, kernels[0].line, forever);
    WayKernels others;
    for (int i = 1; i < kernels.size(); ++i) others.add(kernels[i]);
    return others.empty() ? out : fastest_of(out, others);
  }
  out = on(f);
  if (w.nic_block > 0)
    out.change_lines([&](Candidate ran, Line& line) { fill_nics_in_blocks(line, f, op.collective, ran.algorithm, w.nic_block); });
  if (w.relay) {
    const double peers = f.local() - 1, each = schedule_of(out.ran(prior::ways::relay_from).algorithm, op.collective, f).bytes(0) / peers;
    const Curve relayed = on(with_relays(f));
    Curve both{f};
    const double from = prior::ways::relay_from / each;
    append_part(both, out, 0, from);
    append_part(both, relayed, from, forever);
    return both;
  }
  return kernels.empty() ? out : fastest_of(out, kernels);
}

}  // namespace fabricost::detail
