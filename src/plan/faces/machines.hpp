#pragma once
/// \file machines.hpp
/// Several machines and a user's own prices of them, as typed.

#include "faces/typed.hpp"

#include <fabricost/plan/answers/design/project.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace fabricost {

/// Names with commas between them, which the answer takes apart.
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, Machines& out) {
  out.all.assign(1, {.name = text, .value = nullptr});
}

namespace faces {
/// The parts of "NAME=VALUE". \param what is said of the machine \param as its example \throws RequestError
[[nodiscard]] inline std::pair<std::string, std::string> machine_and_value(const std::string& text, std::string_view option,
                                                                           std::string_view what, std::string_view as) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos)
    throw RequestError(fmt::format("{} {}: write a machine and {}, as in {}={}", option, text, what, text, as));
  return {text.substr(0, equals), text.substr(equals + 1)};
}
}  // namespace faces

/// Parses "NAME=USD" per GPU-hour.
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, OwnPrice& out) {
  const auto [machine, dollars] = faces::machine_and_value(text, option, "USD for a GPU-hour", "2.50");
  out = {machine, faces::number_from(dollars, option, 1e-6, 1e6)};
}

/// Parses "NAME=DAY".
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, OwnDelivery& out) {
  const auto [machine, day] = faces::machine_and_value(text, option, "the day on which it can be had", "2027-03");
  out = {machine, day};
}

}  // namespace fabricost
