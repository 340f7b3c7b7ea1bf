#pragma once
/// Where prefixes of prompts lie when they have left the GPUs' memory, and the link by which they come back.
///
///   host     the host's memory of an engine's GPUs; PCIe or the chip-to-chip link, while all GPUs copy (hardware/host_rate.hpp)
///   ssd      drives of its nodes; the slowest part from them into the GPUs (network/storage.hpp)
///   remote   a store that all engines share; the NICs, as between prefill and decode workers (kv_cache.hpp)
///
/// A block is copied to every tier when it has been computed, and found in the nearest that has it still. It comes back, one transfer of a
/// replica and tier after another, before the rest of its prompt is read, beside the steps of others, and only where that is sooner than reading
/// it anew.

#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/serving/kv_cache.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace fabricost::plan {

enum class PrefixTier : unsigned char { hbm, host, ssd, remote };
inline constexpr std::array<std::string_view, 4> prefix_tier_names{"hbm", "host", "ssd", "remote"};

struct PrefixStore {
  PrefixTier tier = PrefixTier::hbm;
  std::optional<double> bytes{};  ///< of each GPU; none: of the host its memory, else any number
  double drives = 0;              ///< bytes per second that a node's drives are read at
  [[nodiscard]] friend bool operator==(const PrefixStore&, const PrefixStore&) = default;
};

/// Bytes of each GPU; infinity: any number.
[[nodiscard]] double room_of(const PrefixStore& store, const System& system);
/// The link of `gpus` GPUs. \throws RequestError for a machine without it
[[nodiscard]] KvLink link_of(const PrefixStore& store, const System& system, int gpus);

}  // namespace fabricost::plan
