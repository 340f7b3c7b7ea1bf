/// \file choice.cpp
/// What moves (the schedule), and why this algorithm and protocol ran: the tuner's estimates beside our
/// prices, the point-to-point limit, or the prices alone.

#include "explain/parts.hpp"
#include "text/text_table.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fabricost::detail {
namespace {

using Align = TextTable::Align;

struct Row {
  Candidate candidate;
  double believed = -1;  ///< negative: the tuner has no estimate
  double priced = 0;
  bool allowed = true;
};

[[nodiscard]] double priced(const Story& story, Candidate candidate) {
  const Schedule schedule = schedule_of(candidate.algorithm, story.operation().collective, story.fabric());
  return price(schedule, story.fabric(), story.system->constants, candidate.protocol, story.input().byte_wide)(story.bytes());
}

/// The request's restriction in words: "ring", "ll", "ring with ll".
[[nodiscard]] std::string restriction(const Choice& choice) {
  if (choice.algorithm && choice.protocol) return fmt::format("{} with {}", name(*choice.algorithm), name(*choice.protocol));
  return std::string{choice.algorithm ? name(*choice.algorithm) : name(*choice.protocol)};
}

[[nodiscard]] std::string rows_table(const std::vector<Row>& rows, Candidate ran, std::string_view mark, bool beliefs) {
  TextTable table{{{"candidate"}, {beliefs ? "tuner believes, us" : "", Align::right}, {"fabricost's price, us", Align::right}, {""}}};
  for (const Row& row : rows) {
    const bool won = row.candidate == ran;
    table.row({label(row.candidate), beliefs ? micro(row.believed) : "", micro(row.priced),
               won           ? fmt::format("<- {}", mark)
               : row.allowed ? ""
                             : "not allowed by the question"});
  }
  return table.text(2);
}

/// Reports another allowed row that is priced clearly below what ran.
[[nodiscard]] std::string lost_time(const std::vector<Row>& rows, const Story& story) {
  const Row* least = nullptr;
  for (const Row& row : rows)
    if (row.allowed && (least == nullptr || row.priced < least->priced)) least = &row;
  const HostCall& call = story.prediction.made_from.host_call;
  const double t = call.launch > 0 ? call.kernel : story.prediction.seconds;
  if (least == nullptr || !(least->priced < 0.99 * t)) return "";
  return wrapped("  ", fmt::format("By our price {} would take {:.0f} % less time (--choice fastest searches all algorithms).",
                                   label(least->candidate), 100 * (1 - least->priced / t)));
}

[[nodiscard]] std::string by_tuner(const Story& story, const TunerTable& all) {
  std::vector<Row> rows;
  for (const TunerRow& row : all.rows)
    rows.push_back({row.candidate, all.believed(row, story.bytes()), priced(story, row.candidate), story.choice().allows(row.candidate)});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.believed < b.believed; });
  const bool restricted = story.choice().algorithm || story.choice().protocol;
  std::string out =
      wrapped("  ", fmt::format("{} runs what its own tuner believes to be fastest{}. The belief only decides; the price is ours.",
                                story.system->library == Library::nccl ? "NCCL" : std::string{name(story.system->library)} + ", like NCCL,",
                                restricted ? fmt::format(" among what the question allows ({})", restriction(story.choice())) : ""));
  return out + rows_table(rows, story.prediction.ran, "runs", true) + lost_time(rows, story);
}

[[nodiscard]] std::string by_price(const Story& story, std::string_view why) {
  std::vector<Row> rows;
  for (const Candidate c : possible_candidates(story.operation().collective, story.fabric(), story.input().byte_wide))
    rows.push_back({c, -1, priced(story, c), story.choice().allows(c)});
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const bool first = a.candidate == story.prediction.ran, second = b.candidate == story.prediction.ran;
    if (first != second) return first;
    if (a.allowed != b.allowed) return a.allowed;
    return a.priced < b.priced;
  });
  constexpr std::size_t most = 8;
  const std::size_t more = rows.size() > most ? rows.size() - most : 0;
  rows.resize(rows.size() - more);
  std::string out = wrapped("  ", why) + rows_table(rows, story.prediction.ran, "runs", false);
  if (more > 0) out += fmt::format("  and {} more\n", more);
  return out;
}

[[nodiscard]] std::string by_exchange_limit(const Story& story, const TunerTable& table) {
  const double each = story.bytes() / table.peers;
  const std::string limit = size_text(Bytes::from_value(table.exchange_limit));
  const std::string shown = size_text(Bytes::from_value(std::round(each)));
  const std::string amount = table.peers == 1
                                 ? fmt::format("{} to the one peer", shown)
                                 : fmt::format("{} / {} ranks = {} per peer", size_text(story.operation().bytes), table.peers, shown);
  std::string out = wrapped("  ", fmt::format("Point-to-point sends run LL up to {} per peer and Simple above: {} -> {}.", limit, amount,
                                              name(story.prediction.ran.protocol)));
  if (story.fabric().domains() > 1)
    return out +
           wrapped("  ", table.peers == 1
                             ? "Between nodes one price stands for both protocols."
                             : "Between nodes one price stands for both protocols; above the limit every remote peer costs a little more.");
  std::vector<Row> rows;
  for (const Protocol p : {Protocol::ll, Protocol::simple})
    rows.push_back({{Algorithm::direct, p}, -1, priced(story, {Algorithm::direct, p})});
  return out + rows_table(rows, story.prediction.ran, "runs", false);
}

/// Why the communication library chooses what it runs.
[[nodiscard]] std::string tell_library(const Story& story) {
  const Choice& choice = story.choice();
  if (choice.rule == Choice::Rule::fastest)
    return by_price(story, choice.algorithm || choice.protocol
                               ? fmt::format("The cheapest by our price among what the question allows ({}).", restriction(choice))
                               : std::string{"Asked for the fastest: the cheapest by our price of all that can run here."});
  if (!follows_tuner(story.system->library))
    return by_price(story, "No rule is known by which this machine's library chooses, so it is taken to run the cheapest by our price.");
  const TunerTable allowed = allowed_rows(choice, story.input(), story.fabric());
  if (allowed.exchange_limit > 0) return by_exchange_limit(story, allowed);
  const TunerTable all = tuner_table(story.operation().collective, story.fabric(), story.input().byte_wide);
  if (all.exchange_limit > 0 || allowed.rows.empty()) return by_price(story, fmt::format("The question asks for {}.", restriction(choice)));
  return by_tuner(story, all);
}

}  // namespace

std::string tell_schedule(const Story& story) {
  const Schedule& schedule = story.schedule;
  const Fabric& f = story.fabric();
  if (schedule.empty() || f.ranks() <= 1) return "  Nothing: there is one rank.\n";
  bool staged = false, shared = false;
  for (const Phase* p = schedule.begin(); p != schedule.end(); ++p)
    for (const Phase* q = schedule.begin(); q != p; ++q) (p->stage == q->stage ? shared : staged) = true;
  TextTable table{{{staged ? "stage" : "", Align::right},
                   {"tier"},
                   {"serial steps", Align::right},
                   {"leaves one endpoint, one way", Align::right},
                   {"endpoint"}}};
  for (const Phase& p : schedule) {
    const bool gpu = p.level == 0 || f.local() <= 1;
    std::string endpoint = gpu ? "a GPU" : fmt::format("a domain of {}", f.local());
    if (p.level > 0) endpoint += fmt::format(" through {}", counted(f.nics, "NIC"));
    table.row({staged ? std::to_string(p.stage + 1) : "", story.tier(TermKind::steps, p.level), fmt::format("{:.6g}", p.steps),
               fmt::format("{:.6g} x S = {}", p.bytes, size_text(Bytes::from_value(std::round(p.bytes * story.bytes())))), endpoint});
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

std::string tell_choice(const Story& story) {
  if (story.host) return wrapped("  ", "A copy between a GPU and its host has no algorithm to choose.");
  if (story.fabric().ranks() <= 1) return wrapped("  ", "One rank moves nothing; only the launch is left.");
  return tell_engine(story) + (story.engine_ran() ? "" : tell_library(story));
}

}  // namespace fabricost::detail
