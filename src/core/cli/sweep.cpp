/// fabricost sweep: one operation at many sizes or on many counts, or the sizes at which the choice changes,
/// as a table, CSV or JSON.

#include "answers/verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/amounts.hpp"
#include "text/csv.hpp"

#include <fabricost/answers/sweep.hpp>

namespace fabricost::cli {
namespace {

struct SweepTyped : SweepRequest {
  bool crossovers = false, csv = false;

  static RequestTable<SweepTyped> fields() {
    using R = SweepTyped;
    using enum Amount;
    return {SweepRequest::fields(),
            asks(&R::crossovers, "crossovers", "--crossovers", "",
                 "Print the sizes at which the algorithm that runs, and the\nfastest one, change "
                 "(within <sizes> FIRST:LAST:x2)"),
            asks(&R::csv, "csv", "--csv", "", "Print CSV")};
  }
};

/// Prints numbers in the shortest form that reads back exactly. Names contain no commas.
[[nodiscard]] std::string csv_of(const SweepAnswer& a) {
  std::string out = a.by_count ? "nodes,ranks," : "";
  out += "bytes,time_us,algbw_GBps,busbw_GBps,algorithm,protocol,bottleneck,basis,low_us,high_us";
  out += a.by_count ? ",operation,trouble\n" : ",operation,nodes,ranks\n";
  for (const PredictAnswer& p : a.rows) {
    if (a.by_count) out += fmt::format("{},{},", p.nodes, p.ranks);
    if (!p.trouble.empty()) {
      out += fmt::format("{:.0f},,,,,,,,,,{},{}\n", p.bytes().value(), p.collective(), csv_quoted(p.trouble));
      continue;
    }
    out += fmt::format("{:.0f},{},{},{},{},{},{},{},{},{},{}", p.bytes().value(), p.seconds * 1e6, p.algorithm_bandwidth().value() / 1e9,
                       p.bus_bandwidth().value() / 1e9, p.algorithm.view(), p.protocol.view(), p.binding_tier(), name(p.basis), p.low * 1e6,
                       p.high * 1e6, p.collective());
    out += a.by_count ? ",\n" : fmt::format(",{},{}\n", p.nodes, p.ranks);
  }
  return out;
}

/// Two decimals; of short messages three digits.
[[nodiscard]] std::string rate_cell(double bytes_per_second) {
  return bytes_per_second > 0 && bytes_per_second < 1e9 ? fmt::format("{:.3g}", bytes_per_second / 1e9)
                                                        : fmt::format("{:.2f}", bytes_per_second / 1e9);
}

/// Why counts have no answer; of many the first.
template <class Row>
void say_troubles(Page& page, const std::vector<Row>& rows) {
  constexpr int most = 5;
  int count = 0;
  for (const Row& row : rows)
    if (!row.trouble.empty() && ++count <= most)
      page.say("None on {}, {}: {}.", counted(row.nodes, "node"), counted(row.ranks, "rank"), row.trouble);
  if (count > most) page.say("None on {} either; --json says why.", counted(count - most, "further count"));
}

/// One row each: time, bandwidths, algorithm and protocol, bottleneck, interval.
void text_of(Page& page, const SweepAnswer& a) {
  page.width = a.by_count ? 98 : 80;
  page.title(verdict_of(a));
  const auto by_count = [&](int count) { return a.by_count ? std::to_string(count) : ""; };
  page.table({a.by_count ? "" : ">size", a.by_count ? ">nodes" : "", a.by_count ? ">ranks" : "", ">time", ">algbw GB/s", ">busbw GB/s",
              "runs", "bottleneck", ">nine in ten within"},
             a.rows, [&](const PredictAnswer& p) {
               if (!p.trouble.empty()) return cells("", by_count(p.nodes), by_count(p.ranks), "-", "", "", "", "", "");
               return cells(a.by_count ? "" : size_text(p.operation.bytes), by_count(p.nodes), by_count(p.ranks), time_text(p.time()),
                            rate_cell(p.algorithm_bandwidth().value()), rate_cell(p.bus_bandwidth().value()),
                            fmt::format("{} {}", p.algorithm.view(), p.protocol.view()), p.binding_tier(),
                            fmt::format("{} .. {}", seconds_text(p.low), seconds_text(p.high)));
             });
  say_troubles(page, a.rows);
  const auto largest = std::find_if(a.rows.rbegin(), a.rows.rend(), [](const PredictAnswer& p) { return p.trouble.empty(); });
  for (const std::string& one : (a.by_count ? *largest : a.rows.front()).assumed) page.say("Assumed: {}.", one);
}

[[nodiscard]] std::string csv_of(const CrossoversAnswer& a) {
  std::string out = "nodes,ranks,which,from_bytes,algorithm,protocol\n";
  for (const CrossoversAtCount& s : a.rows)  // one without an answer has no line
    for (const auto& [which, changes] : {std::pair{"runs", &s.runs}, {"fastest", &s.fastest}})
      for (const CrossoverAnswer& c : *changes)
        out += fmt::format("{},{},{},{:.0f},{},{}\n", s.nodes, s.ranks, which, c.from.value(), c.algorithm, c.protocol);
  return out;
}

void text_of(Page& page, const CrossoversAnswer& a) {
  page.title(verdict_of(a));
  TextTable rows{">nodes", ">ranks", ">from", "runs", ">from", "fastest"};
  const auto cells = [](const std::vector<CrossoverAnswer>& of, std::size_t i) {
    if (i >= of.size()) return std::pair<std::string, std::string>{};
    return std::pair{rough_size(of[i].from.value()), fmt::format("{} {}", of[i].algorithm, of[i].protocol)};
  };
  for (const CrossoversAtCount& s : a.rows)
    for (std::size_t i = 0; i < std::max(s.runs.size(), s.fastest.size()); ++i) {
      const auto [from, runs] = cells(s.runs, i);
      const auto [from_fastest, fastest] = cells(s.fastest, i);
      rows.row(i == 0 ? std::to_string(s.nodes) : "", i == 0 ? std::to_string(s.ranks) : "", from, runs, from_fastest, fastest);
    }
  page.table(rows);
  say_troubles(page, a.rows);
}

/// In the requested format. \param found the rows
template <class Answer>
[[nodiscard]] std::string output_of(const Answer& found, bool json, bool csv, const Terminal& terminal) {
  if (json) return shown(found.rows, true, terminal, nothing_beside);
  return csv ? csv_of(found) : shown(found, false, terminal, [](Page& page, const auto& a) { text_of(page, a); });
}

}  // namespace

void add_sweep(CLI::App& app, Runner& runner) {
  const auto job = [](const GivenOptions& o, const Terminal& terminal) {
    return spelled_out<SweepTyped>([&] {
      const auto request = request_of<SweepTyped>(o.typed);
      if (request.csv && o.json) throw RequestError("--csv and --json exclude each other");
      const auto printed_as_typed = [&](auto found) {
        spell_fields(found.rows, as_option<SweepTyped>);
        return output_of(found, o.json, request.csv, terminal);
      };
      if (!request.crossovers) return printed_as_typed(answer(static_cast<const SweepRequest&>(request)));
      if (request.bytes) throw Refusal("<crossovers> looks at all sizes; leave <bytes> out (<sizes> bounds them)");
      if (o.typed.given("--choice")) throw Refusal("<crossovers> shows the library's own choice beside the fastest; leave <choice> out");
      return printed_as_typed(answer(CrossoversRequest{request}));
    });
  };
  add_command<SweepTyped>(app, runner, "sweep", "One operation at many sizes, or on many counts of nodes or ranks",
                          "Example: fabricost sweep all_to_all --system aws-p5 --nodes 2 --sizes 1KiB:8GiB:x2 --csv", job);
}

}  // namespace fabricost::cli
