#pragma once
/// Bodies of moe_kernels.hpp.

#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/compiled_once.hpp>
#include <fabricost/error.hpp>
#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/predict/fabric_of.hpp>

namespace fabricost::core {

FABRICOST_BODY std::optional<MoeKernel> parse_moe_kernel(std::string_view text) {
  if (const auto normal = parse_enum<MoeKernel>(std::string{text} + "-normal", moe_kernel_names)) return normal;
  if (const std::string_view own = experts_of_engine(text); !own.empty()) text = own;
  if (text == "deepep-ll") text = name(MoeKernel::deepep_low_latency);
  return parse_enum<MoeKernel>(text, moe_kernel_names);
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

FABRICOST_BODY bool runs_on(MoeKernel k, Library library) {
  return (library == Library::nccl && k != MoeKernel::mori) || (library == Library::rccl && !is_trtllm(k) && exchange_of(k) == nullptr);
}

FABRICOST_BODY void check(const MoeQuestion& q, const System& system) {
  check_parts(system, {.gpu = true, .scale_up = true, .transport = true, .moe = true});
  if (q.kernel != MoeKernel::nccl && !runs_on(q.kernel, system.library))
    throw Refusal(system.name + ": " + std::string{name(q.kernel)} + " is a kernel for GPUs of " +
                  (is_trtllm(q.kernel) || exchange_of(q.kernel) != nullptr ? "NVIDIA"
                   : q.kernel == MoeKernel::mori                           ? "AMD"
                                                                           : "NVIDIA and AMD") +
                  "; <implementation=nccl> prices the all_to_all of this machine's own library");
  check(q.gate);
  if (q.hidden < 1) throw RequestError("hidden must be at least 1");
  if (q.ranks < 0) throw RequestError("ranks must be at least 1, or 0 for one scale-up domain");
  if (!(q.tokens >= 0 && q.tokens <= 1e12)) throw RequestError("tokens must be between 0 and 10^12");
  if (q.phase == MoePhase::prepare && q.kernel != MoeKernel::trtllm_two_sided)
    throw RequestError(std::string{name(q.kernel)} + " has no prepare step; trtllm-NVLinkTwoSided has");
  if (q.sms != 0 && form_of(q.kernel) != MoeKernel::deepep_normal) throw RequestError("SMs can be set for deepep-normal and its like alone");
  if (q.sms < 0 || (system.gpu.units > 0 && q.sms > system.gpu.units))
    throw RequestError("SMs: " + std::to_string(q.sms) + " of a GPU of " + std::to_string(system.gpu.units));
}

FABRICOST_BODY double copy_bytes(const MoeQuestion& q, Precision p) {
  return is_trtllm(q.kernel) && p == Precision::fp8 ? static_cast<double>(q.hidden) : token_bytes(q.hidden, p);
}

FABRICOST_BODY Precision sent(const MoeQuestion& q) {
  if (q.precision) return *q.precision;
  if (const ExchangeKernel* own = exchange_of(q.kernel)) return q.phase == MoePhase::dispatch ? own->sends : Precision::bf16;
  const bool narrows = !is_trtllm(q.kernel) && q.kernel != MoeKernel::nccl;
  return narrows && q.phase == MoePhase::dispatch ? Precision::fp8 : Precision::bf16;
}

/// Traffic of the balanced choices of benchmarks: every token goes to min(k, sets) sets.
FABRICOST_BODY ExpertTraffic balanced_traffic(const Gate& gate, const ExpertPlacement& at, Copies copies, double all) {
  const double e = at.ranks, g = at.per_domain, N = at.domains();
  const double touched = std::min<double>(gate.top_k, e);
  if (copies == Copies::per_domain && at.domains() > 1) {
    const double domains = std::min<double>(gate.top_k, N);
    return {all * touched * (1 - 1 / g), all * domains * (1 - 1 / N), all * touched, all * domains};
  }
  return {all * touched * (g - 1) / e, all * touched * (1 - g / e), all * touched, all * touched};
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Copies copies_of(MoeKernel k) {
  return form_of(k) == MoeKernel::deepep_normal ? Copies::per_domain : detail::stays_inside(k) ? Copies::per_rank : Copies::per_expert;
}

FABRICOST_BODY Receivers receivers_of(const Gate& g, const Routing& r, const Popularity& p, Copies copies, int sets) {
  if (copies == Copies::per_expert)
    return {load_classes(g, p, sets), static_cast<double>(std::min(g.top_k, g.experts / sets)), static_cast<double>(g.top_k) / sets};
  const std::vector<double> chances = touched_each(g, r, p, sets);
  std::vector<double> dispersions;
  double sum = 0;
  for (const double chance : chances) {
    dispersions.push_back(1 - chance);
    sum += chance;
  }
  return {classes_of(chances, dispersions), 1, sum / sets};
}

FABRICOST_BODY MoeCost price_kernel(const MoeWork& work, const MoeConstants& c, MoePhase phase, MoeKernel kernel, bool combine_in_fp4) {
  const bool dispatch = phase == MoePhase::dispatch;
  if (const ExchangeKernel* own = exchange_of(kernel)) {
    const auto& [factor, start, token] = dispatch ? own->dispatch : own->combine;
    MoeCost cost = price_kernel(work, c, phase, own->form, combine_in_fp4);
    for (double* part : {&cost.start, &cost.steps, &cost.network, &cost.growth, &cost.work, &cost.inside, &cost.across, &cost.alone.work,
                         &cost.alone.inside, &cost.alone.across, &cost.alone.floor})
      *part *= factor;
    cost.start += start;
    cost.growth += token * std::min(work.tokens, own->chunk);
    return cost;
  }
  switch (kernel) {
    case MoeKernel::deepep_normal: return price_moe(work, dispatch ? c.normal_dispatch : c.normal_combine, c.form);
    case MoeKernel::deepep_low_latency: return price_moe(work, dispatch ? c.low_latency_dispatch : c.low_latency_combine, c.form);
    case MoeKernel::trtllm_one_sided:
      return price_moe(work, dispatch ? c.one_sided_dispatch : c.one_sided_combine, c.form, c.form.copy_power);
    case MoeKernel::trtllm_two_sided:
      if (phase == MoePhase::prepare) return price_moe(work, c.prepare);
      return price_moe(work, dispatch ? c.two_sided_dispatch : combine_in_fp4 ? c.two_sided_combine_fp4 : c.two_sided_combine, c.form);
    case MoeKernel::mori: return price_moe(work, dispatch ? c.mori_dispatch : c.mori_combine, c.form);
    case MoeKernel::nccl: break;
  }
  return {};
}

FABRICOST_BODY double IntervalWidths::*interval_class(MoeKernel k) {
  switch (form_of(k)) {
    case MoeKernel::deepep_normal: return &IntervalWidths::deepep_normal;
    case MoeKernel::deepep_low_latency: return &IntervalWidths::deepep_low_latency;
    case MoeKernel::trtllm_one_sided: return &IntervalWidths::trtllm_one_sided;
    case MoeKernel::trtllm_two_sided: return &IntervalWidths::trtllm_two_sided;
    case MoeKernel::mori: return &IntervalWidths::mori;
    case MoeKernel::nccl: break;
  }
  return &IntervalWidths::unfitted_algorithm;
}

FABRICOST_BODY MoePrediction predict(const System& system, const MoeQuestion& q) {
  if (system.pod > 0) return predict(slice_for(system, q.ranks), q);
  detail::check(q, system);
  MoePrediction out;
  out.question = q;
  out.precision = detail::sent(q);
  const int ranks = q.ranks > 0 ? q.ranks : system.domain;
  out.placement = place_experts(ranks, system.domain);
  out.nodes = (ranks + system.gpus_per_node - 1) / system.gpus_per_node;
  if (detail::stays_inside(q.kernel) && out.placement.domains() > 1)
    throw RequestError(system.name + ": " + std::string{name(q.kernel)} + " stays inside one scale-up domain, here " +
                       std::to_string(system.domain) + " GPUs; take fewer ranks or another implementation");
  if (q.gate.experts % ranks != 0)
    throw RequestError(std::to_string(q.gate.experts) + " experts do not divide over " + std::to_string(ranks) +
                       " ranks; where copies of busy experts fill the places left, count them: " +
                       std::to_string((q.gate.experts + ranks - 1) / ranks * ranks) + " experts");
  const MoeWork& work = out.work = work_of(system, q, out.placement, out);
  if (q.phase == MoePhase::prepare) out.bytes = out.inside_bytes = out.min = 0;

  const Tier* up = system.tier(TierRole::scale_up);
  const Tier* nic = system.tier(TierRole::nic);
  const Label gpu{"gpu"}, inside = up != nullptr ? up->name : gpu, across = nic != nullptr ? nic->name : Label{"nic"};
  const auto term = [&](const char* what, const Label& tier, double seconds) {
    if (seconds > 0) out.terms.add({.name = what, .tier = tier, .time = Time::from_value(seconds)});
    out.seconds += seconds;
  };
  const Constants& c = system.constants;
  double square = 0;
  if (q.kernel == MoeKernel::nccl) {
    const ExpertExchange x{
        .gate = q.gate, .routing = q.routing, .placement = out.placement, .copies = Copies::per_expert, .bytes_per_token = work.bytes};
    term("exchange", out.placement.domains() > 1 ? across : inside, ExpertCurve(system, x).seconds(q.tokens));
    out.basis = operation_basis(c.basis, c.operations, Collective::all_to_all);
  } else {
    const MoeCost& cost = out.cost = price_kernel(work, c.moe, q.phase, q.kernel, out.precision == Precision::fp4);
    term("launch", gpu, cost.start);
    term("serial steps", inside, cost.steps);
    term("network step", across, cost.network);
    term("pipeline fill", gpu, cost.growth);
    term("SM work", gpu, cost.work);
    term("wire", inside, cost.inside);
    term("wire", across, cost.across);
    // a width that the calibration did not narrow: the kernel was not measured on this generation
    const bool seen = c.interval.*interval_class(q.kernel) < width_priors.*interval_class(q.kernel);
    const auto place = static_cast<std::size_t>(form_of(q.kernel));
    out.basis = seen ? kernel_basis(c.moe_basis, c.moe_kernels, place) : Basis::datasheet;
    const double like = seen ? kernel_width(c.interval, out.basis, c.moe_kernels, place, c.interval.other_domain) : 0;
    square += like * like;
  }
  if (const ExchangeKernel* own = exchange_of(q.kernel)) {
    out.basis = std::max(out.basis, Basis::sibling);
    out.extrapolated.sizes = q.tokens < own->tokens[0] || q.tokens > own->tokens[1];
    square += own->spread * own->spread;
  }
  const double own = c.interval.*interval_class(q.kernel);
  square += own * own;
  double beyond = 0;
  if (out.placement.per_domain > c.moe_max_ranks) {
    out.extrapolated.ranks = true;
    beyond += c.interval.beyond_ranks * std::log2(static_cast<double>(out.placement.per_domain) / c.moe_max_ranks);
  }
  if (out.placement.domains() > 1) {  // these kernels were measured only inside a domain
    out.extrapolated.nodes = true;
    out.basis = std::max(out.basis, Basis::sibling);
    square += c.interval.unmeasured_exchange * c.interval.unmeasured_exchange;
  }
  const double factor = std::exp(std::sqrt(square) + beyond);
  out.min = std::min(out.min, out.seconds);
  out.low = std::max(out.seconds / factor, out.min);
  out.high = out.seconds * factor;
  return out;
}

FABRICOST_BODY MoeWork work_of(const System& machine, const MoeQuestion& q, const ExpertPlacement& at, MoePrediction& out) {
  const System system = detail::with_domains_as_nodes(machine);
  const Copies copies = copies_of(q.kernel);
  const double w = detail::copy_bytes(q, out.precision);
  const bool forced = q.routing.kind == RoutingKind::balanced && copies != Copies::per_expert;
  const double all = q.tokens * w;
  const ExpertTraffic traffic =
      forced ? detail::balanced_traffic(q.gate, at, copies, all) : expert_traffic(q.gate, at, copies, q.tokens, w);
  const ExpertTraffic one = forced ? detail::balanced_traffic(q.gate, at, copies, 1) : expert_traffic(q.gate, at, copies, 1, 1);
  const auto skew_of = [&](int sets) {
    if (!q.routing.skewed()) return 1.0;
    const auto fullest = [&](const Routing& r) {
      return receivers_of(q.gate, r, popularity_of(q.gate, r, at.ranks), copies, sets).fullest(std::max(1.0, q.tokens * at.ranks));
    };
    return fullest(q.routing) / fullest({.kind = RoutingKind::uniform});
  };
  const double skew = skew_of(at.ranks), across_skew = copies == Copies::per_domain && at.domains() > 1 ? skew_of(at.domains()) : skew;
  const Fabric f = fabric_of(system, AllToAll{.ranks = at.ranks, .nodes = at.domains()});
  if ((f.over_pcie && q.kernel != MoeKernel::nccl) || (at.per_domain > 1 && !(f.inner_rate > 0)))
    throw RequestError(machine.name + ": " + std::string{name(q.kernel)} + " needs GPUs that reach each other over NVLink or its like");
  out.copies = one.counted_inside;
  out.bytes = traffic.counted_inside;
  out.inside_bytes = traffic.inside;
  out.across_bytes = traffic.across;
  MoeWork work{.tokens = q.tokens,
               .copies = one.counted_inside,
               .bytes = w,
               .skew = skew,
               .inside_bytes = traffic.inside * skew,
               .across_bytes = traffic.across * across_skew,
               .ranks = static_cast<double>(at.ranks),
               .experts = static_cast<double>(q.gate.experts),
               .sms = static_cast<double>(q.sms > 0 ? q.sms : exchange_of(q.kernel) != nullptr && exchange_of(q.kernel)->sms > 0 ? exchange_of(q.kernel)->sms : deepep_default_sms),
               .all_sms = static_cast<double>(machine.gpu.units > 0 ? machine.gpu.units : assumed_sms),
               .rate = f.inner_rate};
  // mean over all ranks, whatever the skew: the fullest rank sends at least as much
  if (at.per_domain > 1) out.min = traffic.inside / f.inner_rate;
  if (at.domains() > 1) {
    out.min = std::max(out.min, traffic.across / (f.outer_rate / f.local() * f.all_to_all_taper));
    work.across_rate = f.outer_rate / f.local() * f.all_to_all_taper * machine.constants.transport.efficiency;
    work.network_step = machine.constants.transport.tree_step;
  }
  return work;
}

}  // namespace fabricost::core
