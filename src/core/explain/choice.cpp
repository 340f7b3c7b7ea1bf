/// Explains what moves (the schedule), and why this algorithm and protocol ran: the tuner's estimates and our
/// prices, the point-to-point limit, or the prices alone.

#include "explain/sections.hpp"
#include "text/text_table.hpp"

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/choice/candidates.hpp>
#include <fabricost/choice/nccl.hpp>
#include <fabricost/choice/pick.hpp>
#include <fabricost/choice/plugin.hpp>
#include <fabricost/price/price.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fabricost::core::detail {
namespace {

struct PricedRow {
  Candidate candidate;
  double believed = -1;  ///< negative: the tuner has no estimate
  double priced = 0;
  bool allowed = true;
};

[[nodiscard]] double priced(const ExplainContext& context, Candidate candidate) {
  const Schedule schedule = schedule_of(candidate.algorithm, context.operation().collective, context.fabric());
  return price(schedule, context.fabric(), context.system->constants, candidate.protocol, context.input().byte_wide)(context.bytes());
}

/// The request's restriction in words: "ring", "ll", "ring with ll".
[[nodiscard]] std::string restriction(const Choice& choice) {
  if (choice.algorithm && choice.protocol) return fmt::format("{} with {}", name(*choice.algorithm), name(*choice.protocol));
  return std::string{choice.algorithm ? name(*choice.algorithm) : name(*choice.protocol)};
}

[[nodiscard]] std::string rows_table(const std::vector<PricedRow>& rows, Candidate ran, std::string_view mark, bool beliefs) {
  TextTable table{"candidate", beliefs ? ">tuner's estimate, us" : "", ">fabricost's estimate, us", ""};
  for (const PricedRow& row : rows) {
    const bool won = row.candidate == ran;
    table.row({pair_text(row.candidate), beliefs ? micro(row.believed) : "", micro(row.priced),
               won           ? fmt::format("<- {}", mark)
               : row.allowed ? ""
                             : "not allowed"});
  }
  return table.text(2);
}

/// Reports another allowed row that is priced clearly below the pair that ran.
[[nodiscard]] std::string lost_time(const std::vector<PricedRow>& rows, const ExplainContext& context) {
  const PricedRow* min = nullptr;
  for (const PricedRow& row : rows)
    if (row.allowed && (min == nullptr || row.priced < min->priced)) min = &row;
  const HostCall& call = context.prediction.made_from.host_call;
  const double t = call.launch > 0 ? call.kernel : gpu_seconds(context.prediction);
  if (min == nullptr || !(min->priced < 0.99 * t)) return "";
  return wrapped("  ",
                 fmt::format("{} would take {:.0f} % less time by fabricost's estimate (fabricost tune lists where NCCL's choice loses).",
                             pair_text(min->candidate), 100 * (1 - min->priced / t)));
}

[[nodiscard]] std::string by_tuner(const ExplainContext& context, const TunerTable& all) {
  std::vector<PricedRow> rows;
  for (const TunerRow& row : all.rows)
    rows.push_back(
        {row.candidate, all.believed(row, context.bytes()), priced(context, row.candidate), context.choice().allows(row.candidate)});
  std::stable_sort(rows.begin(), rows.end(), [](const PricedRow& a, const PricedRow& b) { return a.believed < b.believed; });
  const bool restricted = context.choice().algorithm || context.choice().protocol;
  const TunerPlugin plugin = context.fabric().plugin;
  const PluginRegions regions = plugin_regions_of(context.choice(), context.input(), context.fabric());
  const std::string among = restricted ? fmt::format(" among what the question allows ({})", restriction(context.choice())) : "";
  std::string out = wrapped(
      "  ",
      regions.pick(context.bytes())
          ? fmt::format("The tuner plugin {} decides here{}, whatever NCCL's own tuner estimates. fabricost's estimate is the time shown.",
                        name(plugin), among)
          : fmt::format("{}{} runs what its own tuner estimates to be fastest{}. NCCL's estimate decides what runs; fabricost's estimate "
                        "is the time shown.",
                        regions.any() ? fmt::format("The tuner plugin {} leaves this size alone: ", name(plugin)) : "",
                        context.system->library == Library::nccl ? "NCCL" : std::string{name(context.system->library)} + ", like NCCL,",
                        among));
  return out + rows_table(rows, context.prediction.ran, "runs", true) + lost_time(rows, context);
}

[[nodiscard]] std::string by_price(const ExplainContext& context, std::string_view why) {
  std::vector<PricedRow> rows;
  for (const Candidate c : possible_candidates(context.operation().collective, context.fabric(), context.input().byte_wide)) {
    const double estimate = priced(context, c);
    const auto is_its_ring = [&](const PricedRow& row) { return row.candidate == Candidate{Algorithm::ring, c.protocol} && row.priced == estimate; };
    if (c.algorithm == Algorithm::hierarchical && !(c == context.prediction.ran) && std::any_of(rows.begin(), rows.end(), is_its_ring))
      continue;  // on one level
    rows.push_back({c, -1, estimate, context.choice().allows(c)});
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const PricedRow& a, const PricedRow& b) {
    const bool first = a.candidate == context.prediction.ran, second = b.candidate == context.prediction.ran;
    if (first != second) return first;
    if (a.allowed != b.allowed) return a.allowed;
    return a.priced < b.priced;
  });
  constexpr std::size_t max = 8;
  const std::size_t more = rows.size() > max ? rows.size() - max : 0;
  rows.resize(rows.size() - more);
  std::string out = wrapped("  ", why) + rows_table(rows, context.prediction.ran, "runs", false);
  if (more > 0) out += fmt::format("  and {} more\n", more);
  return out;
}

[[nodiscard]] std::string by_exchange_limit(const ExplainContext& context, const TunerTable& table) {
  const double each = context.bytes() / table.peers;
  const std::string limit = size_text(Bytes::from_value(table.exchange_limit));
  const std::string shown = size_text(Bytes::from_value(std::round(each)));
  const std::string amount = table.peers == 1
                                 ? fmt::format("{} to the one peer", shown)
                                 : fmt::format("{} / {} ranks = {} per peer", size_text(context.operation().bytes), table.peers, shown);
  std::string out = wrapped("  ", fmt::format("Point-to-point sends run LL up to {} per peer and Simple above: {} -> {}.", limit, amount,
                                              name(context.prediction.ran.protocol)));
  if (context.fabric().domains() > 1)
    return out +
           wrapped("  ", table.peers == 1
                             ? "Between nodes one price stands for both protocols."
                             : "Between nodes one price stands for both protocols; above the limit every remote peer costs a little more.");
  std::vector<PricedRow> rows;
  for (const Protocol p : {Protocol::ll, Protocol::simple})
    rows.push_back({{Algorithm::direct, p}, -1, priced(context, {Algorithm::direct, p})});
  return out + rows_table(rows, context.prediction.ran, "runs", false);
}

/// Explains the communication library's choice.
[[nodiscard]] std::string explain_library(const ExplainContext& context) {
  const Choice& choice = context.choice();
  if (choice.rule == Choice::Rule::fastest)
    return by_price(context, choice.algorithm || choice.protocol
                                 ? fmt::format("The cheapest by our price among what the question allows ({}).", restriction(choice))
                                 : std::string{"Asked for the fastest: the cheapest by our price of all that can run here."});
  if (!follows_tuner(context.system->library))
    return by_price(context, "No rule is known by which this machine's library chooses, so it is taken to run the cheapest by our price.");
  const TunerTable allowed = allowed_rows(choice, context.input(), context.fabric());
  if (allowed.exchange_limit > 0) return by_exchange_limit(context, allowed);
  const TunerTable all = tuner_table(context.operation().collective, context.fabric(), context.input().byte_wide);
  if (all.exchange_limit > 0 || allowed.rows.empty())
    return by_price(context, fmt::format("The question asks for {}.", restriction(choice)));
  if (changes_by_size(context.fabric()))
    return by_price(context, "RCCL changes algorithm and protocol at sizes of its own inside a node, whatever our price of the others.");
  return by_tuner(context, all);
}

}  // namespace

std::string explain_schedule(const ExplainContext& context) {
  const Schedule& schedule = context.schedule;
  const Fabric& f = context.fabric();
  if (schedule.empty() || f.ranks() <= 1) return "  Nothing: there is one rank.\n";
  bool staged = false, shared = false;
  for (const Phase* p = schedule.begin(); p != schedule.end(); ++p)
    for (const Phase* q = schedule.begin(); q != p; ++q) (p->stage == q->stage ? shared : staged) = true;
  TextTable table{staged ? ">stage" : "", "tier", ">serial steps", ">leaves one endpoint, one way", "endpoint"};
  for (const Phase& p : schedule) {
    const bool gpu = p.level == 0 || f.local() <= 1;
    std::string endpoint = gpu ? "a GPU" : fmt::format("a domain of {}", f.local());
    if (p.level > 0) endpoint += fmt::format(" through {}", counted(f.nics, "NIC"));
    table.row({staged ? std::to_string(p.stage + 1) : "", context.tier(TermKind::steps, p.level), fmt::format("{:.6g}", p.steps),
               fmt::format("{:.6g} x S = {}", p.bytes, size_text(Bytes::from_value(std::round(p.bytes * context.bytes())))), endpoint});
  }
  std::string out = table.text(2);
  if (shared)
    out += wrapped(
        "  ",
        staged
            ? "Phases of one stage stream through each other: their steps add, the slowest carries the volume. Stages follow one another."
            : "The phases stream through each other: their steps add, the slowest carries the volume.");
  return out;
}

std::string explain_choice(const ExplainContext& context) {
  if (context.host) return wrapped("  ", "A copy between a GPU and its host has no algorithm to choose.");
  if (context.fabric().ranks() <= 1) return wrapped("  ", "One rank moves nothing; only the launch is left.");
  return explain_engine(context) + (context.engine_ran() ? "" : explain_library(context));
}

}  // namespace fabricost::core::detail
