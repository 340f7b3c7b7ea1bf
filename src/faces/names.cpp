/// \file names.cpp
/// The message for every unknown name.

#include "faces/names.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

namespace fabricost::faces {

std::string joined(std::span<const std::string> names, std::string_view between) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : std::string{between}) + name;
  return out;
}

void throw_unknown(std::string_view given, std::string_view what, std::span<const std::string> names, std::string_view option) {
  throw RequestError(fmt::format("{}{}{}", option, option.empty() ? "" : ": ", unknown_text(given, what, names)));
}

}  // namespace fabricost::faces
