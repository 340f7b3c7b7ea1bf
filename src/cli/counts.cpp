/// \file counts.cpp
/// Lists and ranges of counts.

#include "cli/counts.hpp"

#include "cli/amounts.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::cli {
namespace {

constexpr std::size_t max_counts = 10'000;

/// "FIRST:LAST:xFACTOR", "FIRST:LAST:+STEP", "N".
void append_part(std::vector<int>& out, const std::string& part, std::string_view option) {
  const std::size_t colon = part.find(':');
  if (colon == std::string::npos) {
    out.push_back(count_of(part, option));
    return;
  }
  const auto fault = [&](std::string_view what) { throw RequestError(fmt::format("{}: \"{}\" {}", option, part, what)); };
  const std::size_t second = part.find(':', colon + 1);
  if (second == std::string::npos || second + 2 >= part.size() || colon == 0 || second == colon + 1 ||
      (part[second + 1] != 'x' && part[second + 1] != '+'))
    fault("is not a range; write FIRST:LAST:xFACTOR or FIRST:LAST:+STEP, as in 1:2048:x2");
  const int first = count_of(part.substr(0, colon), option), last = count_of(part.substr(colon + 1, second - colon - 1), option);
  const bool times = part[second + 1] == 'x';
  const int step = count_of(part.substr(second + 2), option);
  if (last < first) fault("ends before it starts; write the smaller count first");
  if (times && step < 2) fault("never gets to its end: its factor must be at least 2");
  for (long long at = first; at <= last; at = times ? at * step : at + step) {
    if (out.size() == max_counts) fault("asks for more than 10,000 counts; take larger steps");
    out.push_back(static_cast<int>(at));
  }
}

}  // namespace

std::vector<int> counts_of(const std::string& text, std::string_view option) {
  std::vector<int> out;
  std::size_t at = 0;
  while (!text.empty() && at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    if (one.empty()) throw RequestError(fmt::format("{}: \"{}\" misses a number; write it as in 2,4,8", option, text));
    append_part(out, one, option);
    at = end + 1;
  }
  return out;
}

}  // namespace fabricost::cli
