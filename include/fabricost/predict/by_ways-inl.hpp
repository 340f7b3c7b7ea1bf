#pragma once
/// Bodies of by_ways.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/by_ways.hpp>

namespace fabricost::core::detail {

/// The library is older than a release of NCCL, 2.x, by its own or by its tables.
FABRICOST_BODY bool came_before(const Fabric& f, double release) {
  return lacks(f, release) || f.tuner < tuner_of_version(2, static_cast<int>(release));
}

/// GPUs of a mesh that take no part: of the links of a GPU, those to no rank of the communicator.
FABRICOST_BODY double idle_beside(const Fabric& f) {
  const double others = f.full_rate / f.inner_rate * (f.local() - 1);  // GPUs that a GPU has links to
  return std::round(others - (std::max<double>(f.communicator, f.local()) - 1));
}

/// Why copy engines cannot move it, or nullptr.
FABRICOST_BODY const char* why_no_copy_engine(const Fabric& f, const Operation& op, const Choice& choice) {
  if (f.library != Library::nccl) return "are known of NCCL alone";
  const bool known = op.collective == Collective::all_gather || op.collective == Collective::all_to_all;
  if (!known) return "move all_gather and all_to_all (NCCL's also scatter and gather): they do not reduce, and NCCL broadcasts by kernels";
  if (came_before(f, prior::ways::copy_engine_from)) return "need NCCL 2.28 or later: <library=nccl-2.28>";
  if (f.over_pcie || f.domains() > 1) return "stay inside one NVLink domain; take ranks of one";
  if (f.ranks() < 2) return "need a peer";
  if (choice.ways.symmetric) return "replace the kernels over windows; leave <symmetric> out";
  return choice.algorithm || choice.protocol ? "run no algorithm of NCCL's; leave <algorithm> and <protocol> out" : nullptr;
}

FABRICOST_BODY void check_ways(const Fabric& f, const System& system, const Operation& op, const Choice& choice) {
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
  if (!w.pxn && is_exchange(op.collective) && f.domains() > 1 && f.local() > 1 && rails_apart(system)) throw no_way_between_rails(system);
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
FABRICOST_BODY void cross_rails(Fabric& f, const System& system) {
  const Tier* leaf = nullptr;
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    if (leaf != nullptr) {
      const double N = f.domains(), m = std::clamp(static_cast<double>(leaf->endpoints) / system.nodes_per_domain(), 1.0, N);
      const double port = leaf->bandwidth.value.value(), o = leaf->oversubscription * port_slowdown(port, tier);
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

FABRICOST_BODY void use_ways(Fabric& f, const System& system, const Operation& op, const Ways& w) {
  if (!w.nvls || (reduces(op.collective) && w.redop != Reduction::sum && !combines_in_switch(op.dtype, w.redop))) f.in_switch = false;
  if (!w.pxn && op.collective == Collective::all_to_all && f.domains() > 1 && f.local() > 1) {
    f.all_to_all_taper *= prior::ways::cross_rail;
    cross_rails(f, system);
  }
}

FABRICOST_BODY void fill_nics_in_blocks(Line& line, const Fabric& f, Collective op, Algorithm algorithm, double block) {
  const Schedule schedule = schedule_of(algorithm, op, f);
  double rate = 0;  // of the NICs, evenly spread, for a byte of S
  for (const Part& part : line.rate_parts) rate += part.level > 0 ? part.value() : 0;
  const auto add = [&](double share, double repeats) {
    line.add_ramp({.shape = Ramp::Shape::blocks,
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

FABRICOST_BODY Fabric with_relays(Fabric f) {
  f.inner_rate = std::min(f.full_rate, f.inner_rate * (1 + prior::ways::relay_share * idle_beside(f) / (f.local() - 1)));
  return f;
}

FABRICOST_BODY WayKernels kernels_of(const Fabric& f, const System& system, const Operation& op, const Choice& choice) {
  const Ways& w = choice.ways;
  WayKernels out;
  const auto add = [&](CollectiveKernel kernel, double until = std::numeric_limits<double>::infinity()) {
    const Candidate c = candidate_of(kernel);
    if (choice.algorithm && *choice.algorithm != c.algorithm) return;
    const WindowKernel how{
        .barriers = !w.barrier_free, .blocks = static_cast<double>(w.ctas), .gathers = gathers_or_scatters(op.collective)};
    out.add({c, price_symmetric(kernel, f, system.constants.custom, how), until});
  };
  if (w.symmetric && op.collective == Collective::all_reduce) {
    add(CollectiveKernel::window_one_shot);
    add(CollectiveKernel::window_two_shot);
  }
  if (w.symmetric && (op.collective == Collective::all_to_all || gathers_or_scatters(op.collective))) add(CollectiveKernel::window_exchange);
  if (w.symmetric && gathers_or_scatters(op.collective)) add(CollectiveKernel::window_flags);
  const bool alone = op.collective == Collective::all_reduce && f.library == Library::nccl && f.domains() <= 1 && f.ranks() > 1;
  if (w.any_buffer && alone && f.in_switch && !choice.algorithm && !choice.protocol) {
    const double beyond = std::nextafter(prior::ways::any_until, std::numeric_limits<double>::infinity());
    add(CollectiveKernel::any_buffer, beyond);
    add(CollectiveKernel::any_buffer_two_shot, beyond);
  }
  return out;
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY const char* why_no_windows(const Fabric& f, const Operation& op, const Choice& choice) {
  if (f.library != Library::nccl) return "are NCCL's";
  const bool gathers = gathers_or_scatters(op.collective);
  if (op.collective != Collective::all_reduce && op.collective != Collective::all_to_all && !gathers)
    return "are known for all_reduce, all_gather, reduce_scatter and all_to_all";
  if (detail::came_before(f, prior::ways::symmetric_from)) return "need NCCL 2.27 or later: <library=nccl-2.27>";
  if (f.over_pcie || f.neighbours_only) return "need GPUs that reach each other over NVLink";
  if (f.domains() > 1) return "stay inside one NVLink domain; take ranks of one";
  if (f.ranks() < 2) return "need a peer";
  const bool adds = op.dtype != DataType::int8 && op.dtype != DataType::double_precision && choice.ways.redop == Reduction::sum;
  if (reduces(op.collective) && !adds) return "add values of type float, half, bfloat16 or fp8, nothing else";
  if (!choice.algorithm) return nullptr;
  const bool one_or_two_shot = *choice.algorithm == Algorithm::one_shot || *choice.algorithm == Algorithm::two_shot;
  if (op.collective == Collective::all_reduce ? !one_or_two_shot : *choice.algorithm != Algorithm::direct)
    return "run all_reduce as one_shot or two_shot, others as direct; take one of those, or leave <algorithm> out";
  return nullptr;
}

FABRICOST_BODY bool on_rails(const System& system) {
  for (const Tier& tier : system.tiers)
    if ((tier.role == TierRole::nic || tier.role == TierRole::network) && tier.kind == TierKind::rails) return true;
  return false;
}

FABRICOST_BODY Refusal no_rails(const System& system) {
  return Refusal(system.name +
                 ": <pxn>: without rails no message changes GPU to reach one; leave it out, or name a machine whose NICs or "
                 "leaves are on rails");
}

FABRICOST_BODY bool rails_apart(const System& system) {
  const auto is_network = [](const Tier& t) { return t.role == TierRole::network; };
  const auto leaf = std::find_if(system.tiers.begin(), system.tiers.end(), is_network);
  return leaf != system.tiers.end() && leaf->kind == TierKind::rails && std::none_of(leaf + 1, system.tiers.end(), is_network);
}

FABRICOST_BODY Refusal no_way_between_rails(const System& system) {
  return Refusal(system.name +
                 ": <pxn>: no switch joins the rails, so that a message from one to another has no path without PXN; leave it out, or "
                 "describe the tier above the leaves (role: network)");
}

}  // namespace fabricost::core
