#include <fabricost/plan/network/load_store.hpp>

namespace fabricost::plan {

TransferLine load_store_line(const System& system, const LoadStore& access) {
  check_parts(system, {});
  const Tier* tier = system.tier(TierRole::scale_up);
  if (tier == nullptr) throw RequestError(system.name + ": no scale-up tier to load or store over");
  if (!(tier->latency.value.value() > 0))
    throw Refusal(system.name + ": tier " + tier->name.c_str() + " has no latency; give it one (<overrides=" + tier->name.c_str() +
                  ".latency=...>)");
  if (!(access.window > 0)) throw RequestError("bytes in flight must be above zero");
  if (access.hops < 0) throw RequestError("hops must not be negative");
  const double one_way = tier->latency.value.value() * (access.hops > 0 ? access.hops : 1);  // a switched tier's latency is end to end
  double rate = tier->bandwidth.value.value();
  switch (tier->kind) {
    case TierKind::full_mesh: rate /= std::max(1, tier->endpoints - 1); break;
    case TierKind::torus:
      rate = tier->link_bandwidth.value() * tier->links / std::max(2.0, 2.0 * static_cast<double>(tier->dims.size()));
      break;
    case TierKind::ring: rate /= 2; break;
    case TierKind::mesh_graph: rate = tier->link_bandwidth.value(); break;
    default: break;
  }
  return {(access.load ? 2 : 1) * one_way, std::min(rate * tier->efficiency, access.window / (2 * one_way))};
}

TransferLine rdma_line(const System& system, double start) {
  check_parts(system, {});
  const Tier* nic = system.tier(TierRole::nic);
  if (nic == nullptr) throw RequestError(system.name + ": no NIC tier for RDMA");
  if (!(nic->latency.value.value() > 0)) throw RequestError(system.name + ": tier " + nic->name.c_str() + " has no latency");
  if (!(start >= 0) || std::isinf(start)) throw RequestError("what starting a message takes must be zero or more seconds");
  const NicWay way = nic_way(*nic, pcie_tier(system), system.tier(TierRole::c2c));
  const double own = nic->bandwidth.value.value() * nic->efficiency / std::max(1, nic->shared_by);
  return {start + nic->latency.value.value(), std::min({own, way.slot, way.link})};
}

double crossover(const TransferLine& first, const TransferLine& second) {
  const double later = second.start - first.start;       // extra start-up time of the second
  const double gain = 1 / first.rate - 1 / second.rate;  // time it saves per byte
  if (gain <= 0) return later < 0 ? 0 : std::numeric_limits<double>::infinity();
  return std::max(0.0, later / gain);
}

double faster_from(const TransferLine& first, const TransferLine& second) {
  const bool catches_up = first.start > second.start && first.rate > second.rate;
  return catches_up ? (first.start - second.start) / (1 / second.rate - 1 / first.rate) : std::numeric_limits<double>::infinity();
}

bool copies_by_dma(const System& system) {
  const Tier* tier = system.tier(TierRole::scale_up);
  return tier != nullptr && tier->name == "ici";
}

AccessLines access_lines(const System& system, double window, int hops, double start) {
  AccessLines out{.store = load_store_line(system, {.load = false, .window = window, .hops = hops}),
                  .load = load_store_line(system, {.load = true, .window = window, .hops = hops}),
                  .rdma = rdma_line(system, start)};
  out.stores_until = crossover(out.store, out.rdma);
  out.loads_until = crossover(out.load, out.rdma);
  return out;
}

namespace {
/// Byte/s of each of those senders that reach a port over the uplinks of its part of a tapered network, where these carry the least.
[[nodiscard]] double rate_from_beyond(const System& system, int senders) {
  const Tier& nic = *system.tier(TierRole::nic);
  double least = std::numeric_limits<double>::infinity(), taper = 1, nodes = 1;  // nodes below one child of the tier
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    const double beyond = senders - (nodes * system.gpus_per_node - 1);
    if (beyond <= 0) break;
    const double lanes = nic.kind == TierKind::rails ? 1 : static_cast<double>(nic.endpoints) / std::max(1, nic.shared_by);
    if (taper > 1) least = std::min(least, nodes * lanes * nic.bandwidth.value.value() / taper / beyond);
    taper *= tier.oversubscription;
    nodes *= std::max(1, tier.endpoints);
  }
  return least;
}
}  // namespace

Incast incast(const System& system, int senders, double bytes, double start) {
  Incast out{.one = rdma_line(system, start)};
  out.alone = out.one(bytes);
  out.rate = std::min(incast_rate(out.one.rate, senders, out.one.rate), rate_from_beyond(system, senders));
  out.seconds = out.one.start + bytes / out.rate;
  return out;
}

}  // namespace fabricost::plan
