#pragma once
/// Words that people know from other tools, and the command or the option that is meant.

#include <fabricost/namespaces.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// "plan serve" of "inference": begins with one of the commands `known`; empty for other words.
[[nodiscard]] std::string_view command_meant(std::string_view typed, const std::vector<std::string>& known);
/// "--isl" of "input-len", which has no dashes in front: begins with one of the options `known`; empty for other words.
[[nodiscard]] std::string_view option_meant(std::string_view typed, const std::vector<std::string>& known);
/// "p2p" of "ring": begins with one of the values `known`; empty for other words.
[[nodiscard]] std::string_view value_meant(std::string_view typed, std::span<const std::string_view> known);
/// How a command without such an option gets a picture, of "plot" and the like; empty for other words.
[[nodiscard]] std::string_view way_elsewhere(std::string_view typed);

}  // namespace fabricost::core
