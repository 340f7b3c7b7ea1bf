#include <fabricost/plan/network/storage.hpp>
#include <fabricost/predict/fabric_of.hpp>

#include <algorithm>

namespace fabricost::plan {

double client_rate(const Link& link, int ports) {
  if (ports < 1) throw RequestError("a client needs at least one port");
  return ports * link.bandwidth.value.value() * link.efficiency();
}

void check_client(const Link& link, const std::string& asked) {
  constexpr std::array<std::string_view, 5> networks{"ethernet", "infiniband", "efa", "slingshot", "omnipath"};
  if (std::find(networks.begin(), networks.end(), link.family) == networks.end())
    throw RequestError(asked + ": no network reaches a store by " + link.family + "; take one of Ethernet, as ethernet-100, or InfiniBand");
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

void check_at_least(double value, double min, const char* what) {
  if (!(value >= min) || std::isinf(value)) throw RequestError(std::string{what} + " must be a number, at least " + (min == 0 ? "0" : "1"));
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

TransferTime storage_time(const System& system, const StorageRead& read) {
  check_parts(system, {});
  detail::check_at_least(read.bytes, 0, "bytes");
  detail::check_at_least(read.latency, 0, "a latency");
  detail::check_at_least(read.host_memory_rate, 0, "the rate of host memory");
  if (!(read.storage_rate > 0)) throw RequestError("the rate of the storage must be above zero");
  const int gpus = read.gpus == 0 ? system.gpus_per_node : read.gpus;
  if (gpus < 1 || gpus > system.gpus_per_node)
    throw RequestError(system.name + ": " + std::to_string(gpus) + " GPUs are to read, a node has " + std::to_string(system.gpus_per_node));
  const Tier* host = host_tier(system);
  if (host == nullptr) throw RequestError(system.name + ": has no tier between GPU and host (role host or c2c)");
  TransferTime out{.rate = read.storage_rate, .bottleneck = "storage", .latency = read.latency, .bytes = read.bytes, .parts = {}};
  out.parts.add({"storage", read.storage_rate});
  const auto part = [&out](double rate, const Label& name) {
    out.parts.add({name, rate});
    if (rate < out.rate) {
      out.rate = rate;
      out.bottleneck = name;
    }
  };
  const double link = host->bandwidth.value.value() * host->efficiency;
  part(gpus * link, host->name);
  const int port_gpus = std::clamp(host->shared_by, 1, system.gpus_per_node);
  if (!read.direct || !read.below_switch) part(std::ceil(static_cast<double>(gpus) / port_gpus) * link, "port to the host");
  if (!read.direct && read.host_memory_rate > 0) part(read.host_memory_rate / 2, "host memory");  // each byte written and read once
  out.seconds = read.latency + read.bytes / out.rate;
  return out;
}

namespace {

/// Seconds in which `gpus` GPUs of every node gather, each its share of all bytes: as many groups at once, which share a node's NICs.
[[nodiscard]] Prediction gathering(const System& system, const WeightLoading& load, int gpus) {
  Operation gather{
      .collective = Collective::all_gather, .bytes = Bytes::from_value(load.bytes / gpus), .ranks = load.nodes, .nodes = load.nodes};
  if (const Fabric one = fabric_of(system, gather); one.domains() > 1) {
    const double asked = gpus * one.outer_rate / one.local();  // of a node's NICs, by groups that know nothing of each other
    gather.bytes *= std::max(1.0, asked / nics_rate(system));
  }
  return predict(system, gather);
}

}  // namespace

TransferTime weight_loading_time(const System& system, const WeightLoading& load) {
  check_parts(system, {});
  detail::check_at_least(load.bytes, 0, "bytes");
  detail::check_at_least(load.nodes, 1, "the number of nodes");
  detail::check_at_least(load.store_rate, 0, "the rate of the store");
  const bool whole = load.sharing == WeightSharing::every_node;
  StorageRead node = load.node;
  node.bytes = whole ? load.bytes : load.bytes / load.nodes;
  TransferTime out = storage_time(system, node);
  if (load.store_rate > 0) {
    const double share = load.store_rate / load.nodes;
    out.parts.add({"store", share});
    if (share < out.rate) {
      out.rate = share;
      out.bottleneck = "store";
      out.seconds = out.latency + out.bytes / share;
    }
  }
  if (load.sharing != WeightSharing::gathered || load.nodes < 2) return out;
  const Prediction p = gathering(system, load, node.gpus == 0 ? system.gpus_per_node : node.gpus);
  if (p.seconds > out.seconds) out.bottleneck = p.bottleneck().tier;
  out.gather = p.seconds;
  out.seconds += p.seconds;
  out.rate = load.bytes / out.seconds;
  return out;
}

LoadingWays loading_ways(const System& system, WeightLoading load, const LoadedBytes& asked) {
  LoadingWays out;
  out.gpus = (load.node.gpus > 0 ? load.node.gpus : system.gpus_per_node) * load.nodes;
  out.bytes = load.bytes = asked.per_gpu ? asked.bytes * out.gpus : asked.bytes;
  for (const WeightSharing sharing : {WeightSharing::every_node, WeightSharing::by_part, WeightSharing::gathered}) {
    if (load.nodes == 1 && sharing != WeightSharing::every_node) continue;
    if (asked.per_gpu && load.nodes > 1 && sharing != WeightSharing::by_part) continue;
    load.sharing = sharing;
    load.node.direct = true;
    const TransferTime direct = weight_loading_time(system, load);
    load.node.direct = false;
    out.ways.push_back({sharing, direct, weight_loading_time(system, load)});
  }
  return out;
}

}  // namespace fabricost::plan
