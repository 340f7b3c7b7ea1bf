/// \file leave_out.cpp
/// Excludes points by source and size.

#include <fabricost/validation/leave_out.hpp>

#include <fabricost/error.hpp>
#include <fabricost/text/quantity.hpp>

#include "text/plain_text.hpp"

#include <algorithm>
#include <optional>

namespace fabricost::core {

namespace {

std::optional<double> size_of_field(std::string_view field) {
  try {
    return parse_size(field).value();
  } catch (const RequestError&) {
    return std::nullopt;  // a part of the name
  }
}

/// Whether a name starts with the pattern; `*` stands for any letters, the first match of each piece counts.
bool begins_like(std::string_view name, std::string_view pattern) {
  std::size_t star = pattern.find('*');
  if (!name.starts_with(pattern.substr(0, star))) return false;
  std::size_t at = std::min(star, pattern.size());
  while (star != std::string_view::npos) {
    pattern.remove_prefix(star + 1);
    star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    at = name.find(piece, at);
    if (at == std::string_view::npos) return false;
    at += piece.size();
  }
  return true;
}

}  // namespace

LeaveOut::LeaveOut(std::string_view term) : term_(term), source_(term) {
  std::vector<double> sizes;
  while (sizes.size() < 2) {
    const std::size_t colon = source_.rfind(':');
    if (colon == std::string::npos || colon == 0) break;
    const std::optional<double> size = size_of_field(std::string_view(source_).substr(colon + 1));
    if (!size) break;
    sizes.insert(sizes.begin(), *size);
    source_.resize(colon);
  }
  if (!sizes.empty()) from_ = sizes[0];
  if (sizes.size() > 1) to_ = sizes[1];
  if (from_ > to_)
    throw RequestError("\"" + plain_text(term_) + "\" leaves out no size: write the smaller one first, as SOURCE:128KiB:1GiB");
}

bool LeaveOut::holds(const Point& point) const {
  return point.bytes >= from_ && point.bytes <= to_ && begins_like(point.source.str(), source_);
}

bool left_out(const std::vector<LeaveOut>& all, const Point& point) {
  return std::any_of(all.begin(), all.end(), [&](const LeaveOut& one) { return one.holds(point); });
}

std::vector<LeaveOut> leave_outs(const std::vector<std::string>& terms) { return {terms.begin(), terms.end()}; }

}  // namespace fabricost::core
