/// \file routing_typed.cpp
/// Parses how tokens choose experts: a name, or a file of measured counts.

#include "answers/typed/from_text.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <array>

namespace fabricost::core {
namespace {

/// Reads the counts of a file.
std::vector<double> counts_in(const std::string& path) {
  LineReader reader(path);
  std::vector<double> out;
  std::string line;
  while (reader.next(line)) {
    if (line.starts_with('#')) continue;
    for (std::size_t at = line.find_first_not_of(" \t,;"); at != std::string::npos; at = line.find_first_not_of(" \t,;", at)) {
      const std::size_t end = std::min(line.find_first_of(" \t,;", at), line.size());
      const std::string cell = line.substr(at, end - at);
      const auto count = parse_number(cell);
      if (!count || *count < 0)
        throw SpecError({fault_in_line(reader.name(), reader.number(), static_cast<int>(at) + 1, line,
                                       fmt::format("\"{}\" is no count of tokens", cell.substr(0, 40)),
                                       "write how many tokens each expert received, zero or more")});
      out.push_back(*count);
      at = end;
    }
  }
  if (out.empty()) throw fault_of_file(reader.name(), "no counts", "write one number for each expert");
  return out;
}

}  // namespace

Routing routing_typed(const std::string& text, std::string_view option) {
  constexpr std::array<std::string_view, 4> names{"balanced", "uniform", "zipf:EXPONENT", "histogram:FILE"};
  constexpr std::string_view histogram = "histogram:";
  if (text.starts_with(histogram)) return {.kind = RoutingKind::histogram, .histogram = counts_in(text.substr(histogram.size()))};
  const auto found = routing_named(text, option);
  if (!found) throw RequestError(fmt::format("{}: {}", option, unknown_text(text, "a routing", names)));
  return *found;
}

}  // namespace fabricost::core
