/// \file constants.cpp
/// The constants a fit of all rows finds, how well it knows them, and kernels alone.

#include <fabricost/plan/evaluation/ops.hpp>
#include <fabricost/plan/evaluation/workload.hpp>
#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace training {

using namespace fabricost::plan;

namespace {

std::string value_of(const FittedConstant& c) {
  const std::string value = c.measure == Measure::time ? fmt::format("{:.4g} us", 1e6 * c.value) : fmt::format("{:.3g}", c.value);
  return c.determined ? fmt::format("{} +- {:.2g} %", value, 100 * c.deviation) : fmt::format("({})", value);
}

std::string_view kind_of(const OpsRow& op) {
  return op.kind == OpKind::product ? "products" : op.kind == OpKind::stream ? "element-wise" : name(op.collective);
}

}  // namespace

std::string constants(const Published& data) {
  std::set<std::string> own, common, factors;
  for (const CalibratedSet& set : data.fit.generations)
    for (const FittedConstant& c : set.fitted)
      (c.shared ? common : own).insert(c.shared ? std::string{c.key} : fmt::format("{} {}", name(set.generation), c.key));
  for (const FittedStack& s : data.fit.stacks) factors.insert(s.factor);
  const auto kernels_of_gpus = static_cast<int>(own.size() + common.size()), programs = static_cast<int>(factors.size());
  std::string out = fmt::format(
      "## Constants\n\n"
      "{} constants by least squares on log(predicted / published) of {} steps, kernels and figures of serving runs: {} of kernels on "
      "{} GPU\nfamilies, {} factors, one for each program, which its variants share, and publisher of kernels, and {} of serving engines\n"
      "(`data/workloads/serving.yaml`). Deviations are standard errors; of what the rows say nothing (-), the prior holds. What they\n"
      "mean is in "
      "`include/fabricost/hardware/compute_constants.hpp`; those not here are held.\n\n| constant |",
      data.fit.constants, data.fit.rows, kernels_of_gpus, data.fit.generations.size(), programs,
      data.fit.constants - kernels_of_gpus - programs);
  std::string rule = "|---|";
  for (const CalibratedSet& set : data.fit.generations) out += fmt::format(" {} |", name(set.generation)), rule += "---|";
  out += "\n" + rule + "\n";
  for (const Parameter& p : compute_parameters) {
    std::string cells;
    bool any = false, shared = false;
    for (const CalibratedSet& set : data.fit.generations) {
      const auto c = std::find_if(set.fitted.begin(), set.fitted.end(), [&](const FittedConstant& f) { return f.key == p.key; });
      const bool fitted = c != set.fitted.end();
      any = any || fitted, shared = shared || (fitted && c->shared);
      cells += fmt::format(" {} |", fitted ? value_of(*c) : "-");
    }
    if (any) out += fmt::format("| {}{} |{}\n", p.key, shared ? " (one for all)" : "", cells);
  }
  out += "\n| stack or publisher | rows | factor | +- % | what is left, sd % | on |\n|---|---|---|---|---|---|\n";
  std::vector<FittedStack> stacks = data.fit.stacks;
  std::sort(stacks.begin(), stacks.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const FittedStack& s : stacks) {
    std::vector<std::string_view> seen;
    for (const StepsSeen::On& there : s.seen.on) seen.push_back(name(there.generation));
    std::sort(seen.begin(), seen.end());
    out += fmt::format("| {} | {} | {:.3f} | {:.2g} | {:.2g} | {} |\n", s.name, s.rows, s.scale, 100 * s.deviation, 100 * s.spread,
                       fmt::join(seen, ", "));
  }
  out +=
      "\nA stack's factor is on the times of its kernels and launches, not on exchanges; variants of one program (`factor_of`) have one, and a spread each. A publisher's is on\n"
      "the arithmetic of products alone: the same product on an A100 takes a fifth longer in one publication than in another, and neither\n"
      "says at which clock.\n\n";
  return out;
}

std::string worth(const Published& data) {
  const auto averages = [&](const std::vector<TrainingRow>& steps) {
    Average judged, every;
    const auto rows = by_group(steps);
    for (std::size_t i = 0; i < data.fitted.size(); ++i) {
      const auto at = rows.find(data.fitted[i]);
      if (at == rows.end()) continue;
      every.add(errors_of(at->second));
      if (i < data.groups.judged.size()) judged.add(errors_of(at->second));
    }
    return std::pair{judged, every};
  };
  const auto [judged, every] = averages(data.steps);
  const double mean = judged.mean / judged.groups;
  std::vector<std::pair<double, std::string>> lines;
  for (const Worth& one : data.worth) {
    const auto [its, all] = averages(one.steps);
    const double more = its.mean / its.groups - mean;
    const bool time = std::any_of(compute_parameters.begin(), compute_parameters.end(),
                                  [&](const Parameter& p) { return p.key == one.constant && p.measure() == Measure::time; });
    const std::string held = time ? fmt::format("{:.3g} us", 1e6 * one.held) : fmt::format("{:.3g}", one.held);
    const std::string what = one.constant.empty() ? "all factors" : "`" + one.constant + "`";
    lines.emplace_back(more, fmt::format("| {} | {} | {} | {} | {:+.2f} |\n", what, held, its.text(), all.text(), more));
  }
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out = fmt::format(
      "## What each constant is worth\n\n"
      "Each in turn is held where its effect is gone, on all GPU families: a share of a peak at 1, any other at the least that a fit may\n"
      "take. All others are fitted again, so that the table shows what they cannot take over. With all of them the first {} groups\n"
      "are {} off, all groups {}.\n\n"
      "| without | held at | first {} groups | all groups | mean worse by |\n|---|---|---|---|---|\n",
      judged.groups, judged.text(), every.text(), judged.groups);
  for (const auto& [more, line] : lines) out += line;
  return out + "\n";
}

std::string kernels(const Published& data) {
  struct Part {
    std::vector<const WorkloadRow*> counted, assumed;
  };
  std::map<std::string, std::map<std::string_view, Part>> parts;
  std::map<std::string, int> skipped;
  for (const OpsRow& op : data.kernels) {
    if (!op.row.skipped.empty()) {
      ++skipped[op.row.skipped];
      continue;
    }
    Part& part = parts[op.row.group][kind_of(op)];
    (op.row.fully_specified ? part.counted : part.assumed).push_back(&op.row);
  }
  std::string out =
      "## Kernels and collectives alone\n\n"
      "Published times of single calls. Products and element-wise kernels are fitted together with the steps; collectives are the\n"
      "library's, with no constant of theirs. The last column are rows between nodes, or between pairs of cards over PCIe, whose wiring "
      "the\n"
      "source does not state: priced on the public cloud whose rates they come nearest, and not counted.\n\n"
      "| group | what | rows | error | in interval | wiring assumed |\n|---|---|---|---|---|---|\n";
  for (const auto& [group, kinds] : parts)
    for (const auto& [kind, part] : kinds)
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", group, kind, part.counted.size(), pair(errors_of(part.counted)),
                         part.counted.empty() ? "-" : fmt::format("{:.0f} %", 100 * coverage(part.counted)),
                         part.assumed.empty() ? "-" : fmt::format("{} rows, {}", part.assumed.size(), pair(errors_of(part.assumed))));
  out +=
      "\nSmall all_reduce times of vidur are those of a profiler around a library call: 2 KiB takes 10 us on two GPUs and 61 us on four "
      "of\n"
      "the same board, out of any order. Its send_recv times the sender, which may leave before the data has arrived. LLMCompass timed "
      "from\n"
      "the host, about 30 us a call: its decode kernels, and its smallest products, are that.\n\n";
  for (const auto& [why, n] : skipped) out += fmt::format("Not priced, {} rows: {}.\n", n, why);
  return out + (skipped.empty() ? "" : "\n");
}

}  // namespace training
