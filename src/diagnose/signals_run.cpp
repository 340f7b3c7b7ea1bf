/// \file signals_run.cpp
/// The start of the program, and whether its times are possible: a clock in another unit, sizes cut or
/// scaled, a table edited by hand, a timer that was never read.

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace fabricost::diagnosis {

namespace {

/// Two ranks 0: every host ran a separate test.
std::optional<Facts> second_rank_zero(const Context& c, const Numbers&) {
  std::map<int, std::set<std::string>> hosts;
  for (const io::RankLine& one : c.info.rank_lines)
    if (hosts[one.rank].insert(one.host).second && hosts[one.rank].size() == 2 && one.rank == 0) return Facts{cited(one.line)};
  return std::nullopt;
}

/// A table of one rank: nothing was sent. Several ranks 0 on one host: each process ran a test of its own.
std::optional<Facts> ran_alone(const Context& c, const Numbers&) {
  if (c.curve.empty() || c.info.rank_lines.empty() || c.best_bus() > 0) return std::nullopt;
  std::size_t zeros = 0;
  for (const io::RankLine& one : c.info.rank_lines) {
    if (one.rank != 0) return std::nullopt;
    ++zeros;
  }
  const std::string line = cited(c.info.rank_lines.front().line);
  if (zeros > 1) return Facts{line, fmt::format("{} processes, each of them rank 0 of a test of its own; the bus bandwidth is 0", zeros)};
  return Facts{line, "the only rank, so nothing was sent and the bus bandwidth is 0"};
}

std::optional<Facts> nccl_messages(const Context& c, const Numbers&) { return found(c.info.messages > 0); }

std::optional<Facts> rows_without_time(const Context& c, const Numbers&) {
  if (c.impossible.without == 0) return std::nullopt;
  return Facts{fmt::format("{}", c.impossible.without)};
}

std::optional<Facts> impossible_times(const Context& c, const Numbers&) {
  const Impossible& seen = c.impossible;
  if (seen.believed()) return std::nullopt;
  return Facts{fmt::format("{}", seen.times), fmt::format("{}", seen.of), seen.example};
}

}  // namespace

std::span<const Signal> run_signals() {
  static const std::vector<Signal> all{
      {"second_rank_zero", second_rank_zero, {"line"}},
      {"ran_alone", ran_alone, {"line", "why"}},
      {"nccl_messages", nccl_messages},
      {"rows_without_time", rows_without_time, {"rows"}},
      {"impossible_times", impossible_times, {"times", "of", "example"}},
  };
  return all;
}

}  // namespace fabricost::diagnosis
