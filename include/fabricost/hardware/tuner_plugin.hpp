#pragma once
/// \file tuner_plugin.hpp
/// Tuner plugins: libraries beside NCCL that choose before its own tuner does, as Amazon's does on its machines. One enumerator for each
/// file of data/plugins; their choices are in choice/plugin.hpp.

#include <array>
#include <cstddef>
#include <string_view>

#include <fabricost/hardware/shipped_plugin_names.inc>

namespace fabricost::core {

[[nodiscard]] constexpr std::string_view name(TunerPlugin plugin) { return tuner_plugin_names[static_cast<std::size_t>(plugin)]; }

}  // namespace fabricost::core
