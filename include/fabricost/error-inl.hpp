#pragma once
/// Bodies of error.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/error.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fabricost::core {

FABRICOST_BODY std::string with_fields(std::string_view text, const Spelling& spelled) {
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

FABRICOST_BODY std::string as_member(std::string_view name, std::string_view value) {
  return std::string{name} + (value.empty() ? "" : " = ") + std::string{value};
}

FABRICOST_BODY std::string Issue::text(const Spelling& spelled) const {
  const std::string instead = with_fields(remedy, spelled);
  std::string out = file;
  const auto add = [&out](auto&&... pieces) { (out.append(pieces), ...); };
  if (line > 0) add(":", std::to_string(line), ":", std::to_string(column));
  add(": ");
  if (!path.empty()) add(path, ": ");
  add(message);
  if (!excerpt.empty()) {
    add("\n    ", excerpt, "\n    ", std::string(static_cast<std::size_t>(column > 0 ? column - 1 : 0), ' '), "^");
    if (!instead.empty()) add(" ", instead);
  } else if (!instead.empty()) {
    add("\n    ", instead);
  }
  return out;
}

FABRICOST_BODY std::string SpecError::joined(const std::vector<Issue>& issues, const Spelling& spelled) {
  std::string out;
  for (const Issue& issue : issues) {
    if (!out.empty()) out.append("\n");
    out.append(issue.text(spelled));
  }
  return out;
}

FABRICOST_BODY SpecError::SpecError(std::vector<Issue> issues) : Error(joined(issues, as_member)), issues_(std::move(issues)) {}
FABRICOST_BODY std::string SpecError::text(const Spelling& spelled) const { return joined(issues_, spelled); }

FABRICOST_BODY Refusal::Refusal(std::string text, bool missing)
    : RequestError(with_fields(text, as_member)), text_(std::move(text)), missing_(missing) {}

}  // namespace fabricost::core
