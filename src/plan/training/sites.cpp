#include <fabricost/plan/training/sites.hpp>

namespace fabricost::plan {

double trained_parameters(const Model& model, const Layout& layout) {
  Layout one;  // a rank that has everything
  one.adapters = layout.adapters;
  const StageContent whole = long_stages(model, one).front();
  const RankParameters own =
      rank_parameters(stage_parameters(parameters_of(model), model, whole), model, one, with_predictions(whole, model).layers);
  const RankParameters trained = trained_parameters(own, model, one, whole);
  return trained.shared() + trained.experts;
}

SitesTime sites_time(const SitesQuestion& q, const TrainingQuestion& of_site, const System& system, const PricedLayout& priced) {
  const Model& m = of_site.model;
  const Layout& l = priced.layout;
  const Processor gpu = Processor::of(system);
  SitesTime out;
  out.step = priced.time.seconds;
  out.parameters = trained_parameters(m, l);
  const double nics = nics_rate(system) / system.gpus_per_node * l.gpus();
  out.rate = nics > 0 ? std::min(q.rate, nics) : q.rate;
  const double share = 2.0 * (q.sites - 1) / q.sites;
  out.sent = share * out.parameters * q.width;
  out.exchange = out.sent / out.rate + q.fragments * 2 * q.delay;
  const double open = q.fragments * std::max(0.0, out.exchange / q.fragments - q.overlap * out.step);
  out.exposed = std::max(open, out.sent / out.rate - q.every * out.step);

  double owned = 0;  // by a GPU of the fullest stage
  const ParameterCount count = parameters_of(m);
  for (const StageContent& at : long_stages(m, l)) {
    const RankParameters own = rank_parameters(stage_parameters(count, m, at), m, l, with_predictions(at, m).layers);
    const RankParameters trained = trained_parameters(own, m, l, at);
    owned = std::max(owned, l.zero >= 1 ? trained.shared() / shard_ranks(l) + trained.experts / expert_shard_ranks(l)
                                        : trained.shared() + trained.experts);
  }
  constexpr double state_bytes = 8, moved = 24, over_host_link = 8;
  out.state = state_bytes * owned;
  out.state_on_gpu = priced.memory.total() + out.state <= gpu.memory * (1 - headroom_of(of_site)) || host_tier(system) == nullptr;
  out.update = out.state_on_gpu ? stream_seconds(gpu, moved * owned)
                                : std::max(over_host_link * owned / host_rate(system), moved * owned / host_memory_rate(system));

  out.plain_exchange = share * out.parameters * of_site.stack.gradient_bytes / out.rate + 2 * q.delay;
  const double hidden = l.pp > 1 || l.zero == 3 ? 0 : (1 - of_site.stack.data_exposed) * out.plain_exchange;
  out.plain = out.step + out.plain_exchange - std::min(hidden, out.step - priced.time.exposed());
  return out;
}

}  // namespace fabricost::plan
