/// \file serve_words.cpp
/// What plan --serve is told in words of its own.

#include "serve_words.hpp"

#include "text/csv.hpp"
#include "names.hpp"
#include "question.hpp"

#include <fmt/format.h>

#include <array>

namespace fabricost::cli {
namespace {

constexpr double most_gibi = 65536;  // of one GPU's share; more than any host has

/// Counts of a file.
std::vector<double> counts_in(const std::string& path) {
  io::LineReader reader(path);
  std::vector<double> out;
  std::string line;
  while (reader.next(line)) {
    if (line.starts_with('#')) continue;
    for (std::size_t at = line.find_first_not_of(" \t,;"); at != std::string::npos; at = line.find_first_not_of(" \t,;", at)) {
      const std::size_t end = std::min(line.find_first_of(" \t,;", at), line.size());
      const std::string cell = line.substr(at, end - at);
      const auto count = io::parse_number(cell);
      if (!count || *count < 0)
        throw SpecError({io::fault_in_line(reader.name(), reader.number(), static_cast<int>(at) + 1, line,
                                           fmt::format("\"{}\" is no count of tokens", cell.substr(0, 40)),
                                           "write how many tokens each expert received, zero or more")});
      out.push_back(*count);
      at = end;
    }
  }
  if (out.empty()) throw io::fault_of_file(reader.name(), "no counts", "write one number for each expert");
  return out;
}

}  // namespace

Routing routing_of(const std::string& text) {
  constexpr std::array<std::string_view, 4> names{"balanced", "uniform", "zipf:EXPONENT", "histogram:FILE"};
  constexpr std::string_view zipf = "zipf:", histogram = "histogram:";
  if (text.empty() || text == "balanced") return {.kind = RoutingKind::balanced};
  if (text == "uniform") return {.kind = RoutingKind::uniform};
  if (text.starts_with(zipf)) {
    const auto exponent = io::parse_number(text.substr(zipf.size()));
    if (exponent && *exponent >= 0 && *exponent <= 10) return {.kind = RoutingKind::zipf, .exponent = *exponent};
    throw RequestError(fmt::format("--routing {}: write zipf: and an exponent from 0 to 10, as in zipf:1.2", text.substr(0, 40)));
  }
  if (text.starts_with(histogram)) return {.kind = RoutingKind::histogram, .histogram = counts_in(text.substr(histogram.size()))};
  throw_unknown(text, "a routing", listed(names));
}

double gibi_of(const std::string& text, std::string_view option) {
  if (text.empty()) return 0;
  const auto gibi = io::parse_number(text);
  if (!gibi || !(*gibi >= 0) || *gibi > most_gibi)
    throw RequestError(fmt::format("{} {}: write GiB of each GPU, from 0 to {:.0f}", option, text.substr(0, 40), most_gibi));
  return *gibi * gibibyte;
}

}  // namespace fabricost::cli
