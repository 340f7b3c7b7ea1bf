#pragma once
/// \file tier_reader.hpp
/// One tier of a spec: its rate from links, its latency from link and switch, checked against its hardware.

#include "specs/store.hpp"

#include <fabricost/hardware/tier.hpp>

#include <string>

namespace fabricost::core {

/// Faults are added to `faults`; fields that could not be read have their defaults.
[[nodiscard]] Tier read_tier(const SpecNode& node, std::string path, SpecStore& library, Faults& faults);

}  // namespace fabricost::core
