/// \file counts.cpp
/// Lists and ranges of counts.

#include "answers/typed/counts.hpp"

#include "text/amounts.hpp"

#include <fabricost/error.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <optional>

namespace fabricost::core {
namespace {

constexpr std::size_t max_counts = 10'000;

void append_part(std::vector<int>& out, std::string_view part, std::string_view option) {
  const auto fault = [&](std::string_view what) { throw RequestError(fmt::format("{}: \"{}\" {}", option, part, what)); };
  const auto whole = [&](std::string_view number) { return count_of(std::string{number}, option); };
  const std::optional<RangeText> range = range_text(part);
  if (!range || range->by == '?' || (range->by != 0 && range->step.empty()))
    fault("is not a range; write FIRST:LAST:xFACTOR or FIRST:LAST:+STEP, as in 1:2048:x2");
  if (range->by == 0) return out.push_back(whole(part));
  const int first = whole(range->first), last = whole(range->last), step = whole(range->step);
  if (last < first) fault("ends before it starts; write the smaller count first");
  if (range->times() && step < 2) fault("never gets to its end: its factor must be at least 2");
  for_each_in_range(first, last, range->times(), step, [&](double at) {
    if (out.size() == max_counts) fault("asks for more than 10,000 counts; take larger steps");
    out.push_back(static_cast<int>(at));
  });
}

}  // namespace

std::vector<int> counts_of(const std::string& text, std::string_view option) {
  std::vector<int> out;
  if (text.empty()) return out;
  for (const std::string_view one : listed(text)) {
    if (one.empty()) throw RequestError(fmt::format("{}: \"{}\" misses a number; write it as in 2,4,8", option, text));
    append_part(out, one, option);
  }
  return out;
}

}  // namespace fabricost::core
