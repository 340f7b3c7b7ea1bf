/// Answers about collectives in one sentence.

#include "answers/verdict.hpp"

#include "text/amounts.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::core {

std::string verdict_of(const PredictAnswer& a) {
  return fmt::format("{} ({} to {}): {}", time_text(a.time()), time_text(a.interval().first), time_text(a.interval().second),
                     title_of(a, a.system));
}

namespace {
/// "7168 (fp8), top 8 of 256 experts, 8 ranks on 1 node, deepep-normal, dgx-h100"
[[nodiscard]] std::string exchange_text(const MoeAnswer& a) {
  const MoeQuestion& q = a.made.question;
  return fmt::format("{} ({}), top {} of {} experts, {} on {}, {}, {}", q.hidden, a.dtype, q.gate.top_k, q.gate.experts,
                     counted(a.made.placement.ranks, "rank"), counted(a.made.nodes, "node"), a.implementation, a.system);
}
}  // namespace

std::string verdict_of(const MoeAnswer& a) {
  const MoePrediction& p = a.made;
  return fmt::format("{} ({} to {}): {} of {:.0f} tokens x {}", time_text(Time::from_value(p.seconds)), time_text(Time::from_value(p.low)),
                     time_text(Time::from_value(p.high)), a.operation, p.question.tokens, exchange_text(a));
}

std::string verdict_of(const std::vector<MoeAnswer>& all) {
  const MoeAnswer &first = all.front(), &last = all.back();
  return fmt::format("{} at {} to {} at {:.0f}: {} of tokens x {}", time_text(first.time), counted(first.tokens, "token"),
                     time_text(last.time), last.tokens, first.operation, exchange_text(first));
}

/// "16.3 us at 1 KiB to 62.6 ms at 16 GiB: all_reduce (half), 8 ranks on 1 node, dgx-h100".
std::string verdict_of(const SweepAnswer& a) {
  const auto answered = [](const PredictAnswer& row) { return row.trouble.empty(); };
  const PredictAnswer& first = *std::find_if(a.rows.begin(), a.rows.end(), answered);
  const PredictAnswer& last = *std::find_if(a.rows.rbegin(), a.rows.rend(), answered);
  const auto at = [&](const PredictAnswer& p) {
    return time_text(p.time()) + (a.by_count ? " on " + counted(p.ranks, "rank") : " at " + size_text(p.operation.bytes));
  };
  return fmt::format(
      "{}{}: {}", at(first), &first != &last ? " to " + at(last) : "",
      a.by_count ? fmt::format("{} of {} ({}), {}", first.collective(), size_text(first.operation.bytes), first.dtype(), first.system)
                 : title_of(first, first.system, false));
}

/// "On 8 ranks ring ll runs, from 1.1 MiB nvls simple: all_reduce (half), dgx-h100"; of several counts the first.
std::string verdict_of(const CrossoversAnswer& a) {
  const CrossoversAtCount& first =
      *std::find_if(a.rows.begin(), a.rows.end(), [](const CrossoversAtCount& row) { return row.trouble.empty(); });
  std::string runs;
  for (const CrossoverAnswer& c : first.runs)
    runs += fmt::format("{}{} {}", runs.empty() ? "" : fmt::format(", from {} ", rough_size(c.from.value())), c.algorithm, c.protocol) +
            (runs.empty() ? " runs" : "");
  return fmt::format("On {} {}: {} ({}), {}", counted(first.ranks, "rank"), runs, a.operation, a.dtype, a.system);
}

}  // namespace fabricost::core
