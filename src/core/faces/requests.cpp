/// \file requests.cpp
/// Reads values that only one question has.

#include "faces/requests.hpp"

#include <fmt/format.h>

namespace fabricost {

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, LayoutAxes& out) {
  out = layout_from(text, option);
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, GroupedRequest& out) {
  try {
    out = grouped_from(text);
  } catch (const RequestError& e) {
    throw RequestError(fmt::format("{} \"{}\": {}", option, text, e.what()));
  }
}

}  // namespace fabricost
