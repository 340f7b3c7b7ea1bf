/// \file fields.cpp
/// Messages that name fields, spelled as whoever asked spells them.

#include <fabricost/answers/fields.hpp>

#include <fmt/format.h>

#include <utility>

namespace fabricost {

std::string with_fields(std::string_view text, const std::function<std::string(std::string_view name, std::string_view value)>& spelled) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find('<'), end = text.find('>', begin);
    if (end == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, begin));
    const std::string_view inside = text.substr(begin + 1, end - begin - 1);
    const std::size_t equals = std::min(inside.find('='), inside.size());
    out += spelled(inside.substr(0, equals), inside.substr(std::min(equals + 1, inside.size())));
    text.remove_prefix(end + 1);
  }
}

namespace {
std::string as_member(std::string_view name, std::string_view value) {
  return std::string{name} + (value.empty() ? "" : " = ") + std::string{value};
}
}  // namespace

Refusal::Refusal(std::string text, bool missing) : RequestError(with_fields(text, as_member)), text_(std::move(text)), missing_(missing) {}

void refuse_range(std::string_view name, double value, const Range& range) {
  if (std::isnan(value)) throw Refusal(fmt::format("<{}>: nan is not a number", name));
  if (range.most >= 1e15)
    throw Refusal(fmt::format("<{}>: {} is not a number {} {}", name, value, range.above ? "above" : "of", range.least) +
                  (range.above ? "" : " or more"));
  if (range.above && value == range.least) throw Refusal(fmt::format("<{}>: above {:g}", name, range.least));
  throw Refusal(fmt::format("<{}>: {} is not from {} to {}", name, value, range.least, range.most));
}

}  // namespace fabricost
