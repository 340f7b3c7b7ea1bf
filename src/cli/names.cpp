/// \file names.cpp
/// One wording for every unknown name of the command line.

#include "names.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

namespace fabricost::cli {

std::string joined(std::span<const std::string> names, std::string_view between) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : std::string{between}) + name;
  return out;
}

std::string unknown_text(std::string_view given, std::string_view what, std::span<const std::string> names) {
  const std::vector<std::string> near = near_names(given, names);
  if (near.empty()) return fmt::format("\"{}\" is not {}; one of: {}", given, what, joined(names));
  return fmt::format("\"{}\" is not {}; did you mean {}?", given, what, joined(near, " or "));
}

void throw_unknown(std::string_view given, std::string_view what, std::span<const std::string> names, std::string_view option) {
  throw RequestError(fmt::format("{}{}{}", option, option.empty() ? "" : ": ", unknown_text(given, what, names)));
}

}  // namespace fabricost::cli
