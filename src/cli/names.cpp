/// \file names.cpp
/// The message for every unknown name on the command line.

#include "cli/names.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::cli {

std::string joined(std::span<const std::string> names, std::string_view between) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : std::string{between}) + name;
  return out;
}

void throw_unknown(std::string_view given, std::string_view what, std::span<const std::string> names, std::string_view option) {
  throw RequestError(fmt::format("{}{}{}", option, option.empty() ? "" : ": ", unknown_text(given, what, names)));
}

std::string option_text(std::string_view name, std::string_view value) {
  std::string out = "--" + std::string{name == "overrides" ? "set" : name};
  std::replace(out.begin(), out.end(), '_', '-');
  return value.empty() ? out : fmt::format("{} {}", out, value);
}

}  // namespace fabricost::cli
