/// Rates of the links that prefixes come back over.

#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/plan/network/storage.hpp>
#include <fabricost/plan/serving/arrivals/prefix_store.hpp>

#include <algorithm>
#include <limits>

namespace fabricost::plan {

double room_of(const PrefixStore& store, const System& system) {
  if (store.bytes) return *store.bytes;
  return store.tier == PrefixTier::host ? host_room(system) : std::numeric_limits<double>::infinity();
}

KvLink link_of(const PrefixStore& store, const System& system, int gpus) {
  if (store.tier == PrefixTier::remote) return kv_link(system, gpus, false);
  const double rate = host_rate(system);
  if (store.tier == PrefixTier::host)
    return {host_copy_of(*host_tier(system), system.constants.pcie.form, Path::to_gpu).start, gpus * rate};
  const int of_node = std::min(gpus, system.gpus_per_node);  // each has its part of the drives
  const StorageRead read{.storage_rate = store.drives * of_node / system.gpus_per_node, .gpus = of_node};
  return {0, storage_time(system, read).rate / of_node * gpus};
}

}  // namespace fabricost::plan
