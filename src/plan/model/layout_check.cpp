#include <fabricost/plan/model/layout_check.hpp>

namespace fabricost::plan {

/// Interleaving keeps p microbatches together, and so do the chunks of gpipe; two-way and zero-bubble schedules have their own minimums.
bool schedule_runs(const Layout& l) {
  const int m = l.microbatches();
  if (l.pp == 1) return l.vp == 1;
  switch (l.schedule) {
    case PipelineSchedule::dualpipe: return l.pp % 2 == 0 && m % 2 == 0 && m >= 2 * l.pp && l.vp == 1;
    case PipelineSchedule::dualpipe_v: return m >= 2 * l.pp && l.vp == 1;
    case PipelineSchedule::none:
    case PipelineSchedule::gpipe:
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::interleaved: return l.vp == 1 || m % l.pp == 0;
    default: return l.vp == 1;
  }
}

namespace detail {
/// The rule that the layout breaks for a model by itself.
LayoutFault own_fault(const Model& m, const Layout& l) {
  if (l.tp < 1 || l.pp < 1 || l.vp < 1 || l.cp < 1 || l.ep < 1 || l.dp < 1 || l.expert_tp < 1 || l.microbatch < 1 || l.global_batch < 1 ||
      l.sequence < 1 || l.zero < 0 || l.zero > 3)
    return LayoutFault::positive;
  if (l.global_batch < static_cast<long long>(l.dp) * l.microbatch) return LayoutFault::replicas;
  if (!divides(static_cast<long long>(l.dp) * l.microbatch, l.global_batch)) return LayoutFault::batch;
  if (!divides(l.tp, m.heads)) return LayoutFault::heads;
  if (!divides(l.cp, l.sequence)) return LayoutFault::sequence;
  if (!divides_as_given(m, l)) return LayoutFault::split;
  if (l.pp > 1 && (m.layers < l.pp || has_idle_chunk(m, l))) return LayoutFault::idle_chunk;
  if (l.vp > 1 && l.microbatches() % l.pp != 0) return LayoutFault::interleaving;
  if (!schedule_runs(l)) return LayoutFault::schedule;
  const long long replicas = static_cast<long long>(l.dp) * l.cp;
  if (l.shard < 0 || (l.shard > 0 && l.shard < replicas && !divides(l.shard, replicas))) return LayoutFault::shard;
  if (!m.mixture()) return l.ep == 1 ? LayoutFault::none : LayoutFault::no_experts;
  if (!divides(l.ep, m.experts)) return LayoutFault::experts;
  if (!divides(static_cast<long long>(l.ep) * l.expert_tp, static_cast<long long>(l.tp) * l.cp * l.dp)) return LayoutFault::expert_ranks;
  const long long whole = static_cast<long long>(l.ep) * l.expert_tp, near = static_cast<long long>(l.shard) * l.tp;
  if (l.shard > 0 && l.shard < replicas && near > whole && !divides(whole, near)) return LayoutFault::shard;
  return LayoutFault::none;
}

/// What is wrong with a division of layers that was given, and the nearest one.
std::string why_undivided(const Model& m, const Layout& l) {
  const PipelineSplit& as = l.split;
  const auto n = [](int value) { return std::to_string(value); };
  if (l.pp == 1) return "layers were divided over pipeline stages, but there is one; take pp above 1, or leave the division out";
  if (layout_of(l.schedule) != PipelineLayout::loop)
    return "schedule " + std::string(name(l.schedule)) +
           " has stages on a way back, whose layers no program divides unevenly; take 1f1b or interleaved";
  const std::string stages = n(l.pp) + " stages" + (l.vp > 1 ? " of " + n(l.vp) + " chunks" : "");
  if (!as.by_stage()) {
    const int counted = m.layers + (as.embedding ? 1 : 0) + (as.loss ? 1 : 0);
    return n(m.layers) + " layers of " + m.name + (as.embedding ? " with the embedding" : "") +
           (as.loss ? std::string{as.embedding ? " and" : " with"} + " the loss" : "") + " do not divide into " + stages +
           "; take pp x vp " + n(nearest_divisor(counted, l.pp * l.vp)) + ", or count neither as a layer";
  }
  const auto ends = [&](int first, int last, const char* of) {
    std::string out;
    if (as.first > 0) out.append(n(first)).append(of).append("the first");
    if (as.first > 0 && as.last > 0) out += " and ";
    if (as.last > 0) out.append(n(last)).append(of).append("the last");
    return out;
  };
  std::string near = "another pp";
  bool found = false;
  for (int apart = 0; apart < m.layers && !found; ++apart)
    for (const int first : {as.first - apart, as.first + apart})
      for (const int last : {as.last - apart, as.last, as.last + apart}) {
        Layout other = l;
        other.split.first = as.first > 0 ? first : 0;
        other.split.last = as.last > 0 ? last : 0;
        const bool stays = (other.split.first > 0) == (as.first > 0) && (other.split.last > 0) == (as.last > 0);
        if (found || other.split.first < 0 || other.split.last < 0 || !stays || !divides_as_given(m, other)) continue;
        near = ends(first, last, " of ") + " stage";
        found = true;
      }
  return n(m.layers) + " layers of " + m.name + " do not divide into " + stages + " with " + ends(as.first, as.last, " on ") + "; take " +
         near;
}
}  // namespace detail

LayoutFault fault_of(const Model& m, const Layout& l) {
  const LayoutFault own = detail::own_fault(m, l);
  return own == LayoutFault::none && m.frozen ? detail::own_fault(*m.frozen, frozen_layout(l, *m.frozen)) : own;
}

/// The most stages, at most those of the layout, that leave none idle and divide `gpus`; with its chunks if it can keep them.
Layout with_work_for_all(const Model& m, Layout l, int gpus) {
  for (const int vp : {l.vp, 1})
    for (int pp = std::min(l.pp, m.layers); pp > 1; --pp) {
      Layout at = l;
      at.pp = pp;
      at.vp = vp;
      if (gpus % pp == 0 && !has_idle_chunk(m, at)) return at;
    }
  l.pp = l.vp = 1;
  return l;
}

int nearest_divisor(int whole, int wanted) {
  int best = 1;
  const auto apart = [wanted](int d) { return d > wanted ? static_cast<double>(d) / wanted : static_cast<double>(wanted) / d; };
  for (int d = 1; d <= whole && d <= 4LL * wanted; ++d)
    if (whole % d == 0 && apart(d) < apart(best)) best = d;
  return best;
}

std::string why_impossible(const Model& m, const Layout& l, int gpus) {
  if (gpus < 1) gpus = l.gpus();
  if (m.frozen && detail::own_fault(m, l) == LayoutFault::none) return why_impossible(*m.frozen, frozen_layout(l, *m.frozen), gpus);
  const auto nearest = [gpus](int whole, int wanted) { return std::to_string(nearest_divisor(std::gcd(whole, gpus), wanted)); };
  const auto n = [](long long value) { return std::to_string(value); };
  switch (fault_of(m, l)) {
    case LayoutFault::none: return "";
    case LayoutFault::positive: return "every size of a layout must be at least 1, zero 0 to 3";
    case LayoutFault::replicas:
      return "a batch of " + n(l.global_batch) + " sequences is less than " + n(l.dp) + " data replicas x microbatch " + n(l.microbatch) +
             "; take a batch of at least " + n(static_cast<long long>(l.dp) * l.microbatch) + ", or at most " +
             n(std::max(1, l.global_batch / l.microbatch)) + " replicas (more tensor, pipeline or context ranks)";
    case LayoutFault::batch: {
      const long long each = static_cast<long long>(l.dp) * l.microbatch;
      return "a batch of " + n(l.global_batch) + " does not divide into " + n(l.dp) + " replicas x microbatch " + n(l.microbatch) +
             "; take " + n(l.global_batch / each * each) + " or " + n((l.global_batch / each + 1) * each);
    }
    case LayoutFault::heads:
      return "tp " + n(l.tp) + " does not divide the " + n(m.heads) + " heads of " + m.name + "; take " + nearest(m.heads, l.tp);
    case LayoutFault::sequence:
      return "cp " + n(l.cp) + " does not divide a sequence of " + n(l.sequence) + "; take " + nearest(l.sequence, l.cp);
    case LayoutFault::split: return detail::why_undivided(m, l);
    case LayoutFault::idle_chunk: {
      const Layout near = with_work_for_all(m, l, std::max(1, gpus / (l.tp * l.cp)));
      return "pp " + n(l.pp) + (l.vp > 1 ? " x vp " + n(l.vp) : "") + " leaves stages without one of the " + n(m.layers) + " layers of " +
             m.name + "; take pp " + n(near.pp) + (l.vp > 1 ? " x vp " + n(near.vp) : "");
    }
    case LayoutFault::interleaving:
      return "interleaving needs microbatches in groups of pp: " + n(l.microbatches()) + " do not divide by " + n(l.pp) +
             "; take vp 1, or a batch of " + n((l.microbatches() / l.pp + 1) * static_cast<long long>(l.pp) * l.dp * l.microbatch);
    case LayoutFault::schedule:
      return "schedule " + std::string(name(l.schedule)) + " cannot run " + n(l.pp) + " stages x " + n(l.vp) + " chunks with " +
             n(l.microbatches()) +
             " microbatches; dualpipe needs an even number of stages and twice as many microbatches, only interleaved and gpipe take vp above 1";
    case LayoutFault::shard: {
      const int replicas = l.dp * l.cp;
      return "shard " + n(l.shard) + " cuts the " + n(replicas) + " replicas" + (l.ep > 1 ? " or the copies of an expert" : "") +
             " unevenly; take " + n(nearest_divisor(replicas, std::max(1, l.shard))) + ", or leave it out to shard over all";
    }
    case LayoutFault::no_experts: return "ep " + n(l.ep) + ": " + m.name + " has no experts; take ep 1";
    case LayoutFault::experts:
      return l.ep > m.experts ? "ep " + n(l.ep) + ": more expert ranks than the " + n(m.experts) + " experts of " + m.name + "; take " +
                                    nearest(m.experts, m.experts)
                              : "ep " + n(l.ep) + " does not divide the " + n(m.experts) + " experts of " + m.name + "; take " +
                                    nearest(m.experts, l.ep);
    case LayoutFault::expert_ranks: {
      const int ranks = l.tp * l.cp * l.dp;
      return "ep " + n(l.ep) + (l.expert_tp > 1 ? " x expert tp " + n(l.expert_tp) : "") + " does not divide the " + n(ranks) +
             " ranks of tp x cp x dp; take " + n(nearest_divisor(std::gcd(ranks / std::gcd(ranks, l.expert_tp), m.experts), l.ep));
    }
  }
  return "";
}

}  // namespace fabricost::plan
