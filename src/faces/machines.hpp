#pragma once
/// \file machines.hpp
/// Several machines and a user's own prices of them, as typed.

#include "faces/typed.hpp"

#include <fabricost/answers/design/project.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace fabricost {

/// Names with commas between them, which the answer takes apart.
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, Machines& out) {
  out.all.assign(1, {.name = text, .value = nullptr});
}

/// Parses "NAME=USD" per GPU-hour.
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, OwnPrice& out) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos)
    throw RequestError(fmt::format("{} {}: write a machine and USD for a GPU-hour, as in {}=2.50", option, text, text));
  out = {text.substr(0, equals), faces::number_from(text.substr(equals + 1), option, 1e-6, 1e6)};
}

/// Parses "NAME=DAY".
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, OwnDelivery& out) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos)
    throw RequestError(fmt::format("{} {}: write a machine and the day on which it can be had, as in {}=2027-03", option, text, text));
  out = {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace fabricost
