/// \file sweep_counts.cpp
/// The counts of a question one after the other: one prediction each, or the switch points of its curves.

#include "sweep_counts.hpp"

#include "text/rough_size.hpp"
#include "text/text_table.hpp"
#include "amounts.hpp"
#include "counts.hpp"
#include "predictions_table.hpp"
#include "report.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::cli {
namespace {

/// The question with its counts taken out, and one operation for each.
struct Counted {
  Asked asked;
  std::vector<Operation> operations;
};
[[nodiscard]] Counted counted(const Question& q, bool sized) {
  const bool nodes = is_several(q.nodes), ranks = is_several(q.ranks);
  if (nodes && ranks) throw RequestError("--nodes and --ranks are both lists; sweep over one of them");
  Question one = q;
  const std::vector<int> counts = counts_of(ranks ? q.ranks : q.nodes, ranks ? "--ranks" : "--nodes");
  (ranks ? one.ranks : one.nodes).clear();
  Counted out{.asked = ask(one, sized), .operations = {}};
  for (const int count : counts) {
    out.operations.push_back(out.asked.operation);
    (ranks ? out.operations.back().ranks : out.operations.back().nodes) = count;
  }
  if (counts.empty()) out.operations.push_back(out.asked.operation);
  return out;
}

/// Says which count it was.
template <class Work>
auto at_count(const Operation& op, const Work& work) {
  try {
    return work();
  } catch (const RequestError& e) {
    throw RequestError(
        fmt::format("{}: {}", op.nodes > 0 ? fmt::format("{} nodes", op.nodes) : fmt::format("{} ranks", op.ranks), e.what()));
  }
}

struct Change {
  double from = 0;
  Candidate runs;
};
[[nodiscard]] std::vector<Change> changes_of(const Curve& curve, double first, double last) {
  std::vector<Change> out;
  for (int i = 0; i < curve.pieces(); ++i) {
    const double from = std::max(first, std::ceil(curve.threshold(i)));
    if (from > last) break;
    const Candidate runs = curve.ran(from);
    if (!out.empty() && from <= out.back().from) out.pop_back();  // a piece below the first size
    if (out.empty() || !(out.back().runs == runs)) out.push_back({from, runs});
  }
  return out;
}

struct Scanned {
  int nodes = 1, ranks = 1;
  std::vector<Change> runs, fastest;
};
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Change>& changes) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Change& c : changes)
    out.push_back(
        {{"from_bytes", static_cast<long long>(c.from)}, {"algorithm", name(c.runs.algorithm)}, {"protocol", name(c.runs.protocol)}});
  return out;
}

}  // namespace

std::string sweep_counts(const Question& question, SweepForm form, const Terminal& terminal) {
  const Counted all = counted(question, true);
  std::vector<Prediction> predictions;
  for (const Operation& op : all.operations)
    predictions.push_back(at_count(op, [&] { return predict(all.asked.system, op, all.asked.choice); }));
  if (form == SweepForm::json) return predictions_json(all.asked.system, predictions);
  if (form == SweepForm::csv) {
    std::string out = fmt::format("nodes,ranks,{}\n", csv_header);
    for (const Prediction& p : predictions) out += fmt::format("{},{},{}\n", p.nodes, p.ranks, csv_row(p));
    return out;
  }
  const Operation& op = all.asked.operation;
  std::string out =
      terminal.strong(fmt::format("{} of {} ({}), {}", name(op.collective), size_text(op.bytes), name(op.dtype), all.asked.system.name)) +
      "\n" + predictions_table(predictions, true);
  for (const std::string& one : assumed(all.asked.system, predictions.back())) out += wrapped("  ", "Assumed: " + one + ".", 98);
  return out;
}

std::string sweep_crossovers(const Question& question, const std::string& sizes, SweepForm form, const Terminal& terminal) {
  if (!question.choice.empty()) throw RequestError("--crossovers shows the library's own choice beside the fastest; leave --choice out");
  const std::vector<Bytes> bounds = sizes_of(sizes.empty() ? "8B,16GiB" : sizes, "--sizes");
  const auto [least, most] = std::minmax_element(bounds.begin(), bounds.end());
  const double first = least->value(), last = most->value();
  const Counted all = counted(question, false);
  std::vector<Scanned> scanned;
  for (const Operation& op : all.operations)
    scanned.push_back(at_count(op, [&] {
      Choice choice = all.asked.choice;
      const Curve runs = compile(all.asked.system, op, choice);
      choice.rule = Choice::Rule::fastest;
      const Curve fastest = compile(all.asked.system, op, choice);
      return Scanned{runs.fabric().nodes, static_cast<int>(runs.fabric().ranks()), changes_of(runs, first, last),
                     changes_of(fastest, first, last)};
    }));
  if (form == SweepForm::json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const Scanned& s : scanned)
      out.push_back({{"nodes", s.nodes}, {"ranks", s.ranks}, {"runs", to_json(s.runs)}, {"fastest", to_json(s.fastest)}});
    return printed(out);
  }
  std::string csv = "nodes,ranks,which,from_bytes,algorithm,protocol\n";
  TextTable rows{{{"nodes", right}, {"ranks", right}, {"from", right}, {"runs"}, {"from", right}, {"fastest"}}};
  for (const Scanned& s : scanned) {
    for (const auto& [which, changes] : {std::pair<const char*, const std::vector<Change>&>{"runs", s.runs}, {"fastest", s.fastest}})
      for (const Change& c : changes)
        csv += fmt::format("{},{},{},{:.0f},{},{}\n", s.nodes, s.ranks, which, c.from, name(c.runs.algorithm), name(c.runs.protocol));
    const auto cells = [](const std::vector<Change>& of, std::size_t i) {
      if (i >= of.size()) return std::pair<std::string, std::string>{};
      return std::pair{rough_size(of[i].from), fmt::format("{} {}", name(of[i].runs.algorithm), name(of[i].runs.protocol))};
    };
    for (std::size_t i = 0; i < std::max(s.runs.size(), s.fastest.size()); ++i) {
      const auto [from, runs] = cells(s.runs, i);
      const auto [from_fastest, fastest] = cells(s.fastest, i);
      rows.row({i == 0 ? std::to_string(s.nodes) : "", i == 0 ? std::to_string(s.ranks) : "", from, runs, from_fastest, fastest});
    }
  }
  if (form == SweepForm::csv) return csv;
  const Operation& op = all.asked.operation;
  return terminal.strong(fmt::format("From which size what runs, and what is fastest: {} ({}), {}", name(op.collective), name(op.dtype),
                                     all.asked.system.name)) +
         "\n" + rows.text(2);
}

}  // namespace fabricost::cli
