#include <fabricost/plan/serving/kv_cache.hpp>

namespace fabricost::plan {

double kv_bytes_per_rank(const Model& m, double context, double width, int tp, int pp) {
  const Mixer& x = m.mixer;
  const double states = x.layers == 0 ? 0 : kv_bytes(m, 0, width) / tp;
  return ((kv_bytes(m, context, width) - kv_bytes(m, 0, width)) * kv_share(m, tp) + states) / pp;
}

KvLink kv_link(const System& system, int ranks, bool inside, const KvLinkConstants& c) {
  check_parts(system, {});
  if (inside) {
    const Tier* link = system.tier(TierRole::scale_up);
    if (link == nullptr) throw RequestError(system.name + ": has no scale-up links to send a cache over; put the workers on two nodes");
    return {c.local_start, c.local_share * ranks * link->bandwidth.value.value()};
  }
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) throw RequestError(system.name + ": has no NICs to send a cache over; prefill and decode need one domain");
  const double each = nics_rate(system) / system.gpus_per_node;
  return {c.start, c.nic_share * each * ranks};
}

KvLink kv_link(const System& from, int senders, const System& to, int takers) {
  const KvLink a = kv_link(from, senders, false), b = kv_link(to, takers, false);
  return {std::max(a.start, b.start), std::min(a.rate, b.rate)};
}

}  // namespace fabricost::plan
