/// A rank that others wait for is a straggler, as sure as the rule of data/diagnosis that tells it from lengths alone. A collective slower
/// than its prediction, or than in groups like its own, has the slow link: which of the causes it is, a trace does not say.

#include "answers/trace/diagnosis.hpp"
#include "answers/trace/step.hpp"

#include "diagnose/rules.hpp"
#include "readings/traces/readers.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe::detail {

namespace {

/// The rule of data/diagnosis with that signal; nullptr: there is none.
[[nodiscard]] const diagnosis::Row* rule_with(const diagnosis::Rules& rules, std::string_view signal) {
  for (const diagnosis::RuleFile& file : rules.files)
    for (const std::vector<diagnosis::Row>& group : file.groups)
      for (const diagnosis::Row& row : group)
        for (const diagnosis::Condition& condition : row.when)
          for (const diagnosis::Term& term : condition)
            if (term.signal != nullptr && term.signal->name == signal) return &row;
  return nullptr;
}

[[nodiscard]] Finding cause_of(const std::string& finding, const diagnosis::Row* late) {
  const Cause cause = finding.starts_with("Rank ") ? Cause::stragglers : Cause::other;
  Finding out{.cause = cause, .confidence = 0.5, .evidence = finding, .remedy = {}};  // as likely as not
  if (cause == Cause::stragglers && late != nullptr) {
    out.confidence = late->weight;
    out.remedy = late->remedy;
    out.rule = late->id;
  } else {
    out.what = "slow collectives";
    out.remedy = "measure this group's links alone, size for size (nccl-tests), and diagnose that log";
  }
  return out;
}

[[nodiscard]] std::optional<DiagnosedSize> size_of(const TraceAnswer& trace, const TracedCollective& row) {
  if (!row.bytes || !row.predicted || !row.interval || row.bound != "exact") return std::nullopt;
  const auto group =
      std::find_if(trace.groups.begin(), trace.groups.end(), [&](const TracedProcessGroup& one) { return one.name == row.group; });
  const auto collective = parse_collective(row.operation);
  if (!collective) return std::nullopt;
  return DiagnosedSize{
      .collective = *collective,
      .bytes = *row.bytes,
      .ranks = row.ranks,
      .nodes = group == trace.groups.end() ? 0 : group->nodes,
      .measured = row.wire,
      .predicted = *row.predicted,
      .low = row.interval->first,
      .high = row.interval->second,
      .bus_bandwidth = row.wire > Time{} ? *row.bytes / row.wire * bus_factor(*collective, row.ranks) : Bandwidth{}};
}

/// "all_reduce of 256 MiB in group 0 takes 301 us": the first of the kinds that take less than wires or a kernel's start allow; empty: fewer
/// than half of those judged do.
[[nodiscard]] std::string impossible_in(const TraceAnswer& trace) {
  std::size_t impossible = 0, judged = 0;
  std::string first;
  for (const TracedCollective& row : trace.collectives) {
    judged += row.verdict == "unknown" ? 0 : 1;
    if (row.verdict != "impossible") continue;
    if (impossible++ == 0)
      first = fmt::format("{}{} in group {} takes {}, less than the wires of {} or a kernel's start allow", row.operation,
                          row.bytes ? " of " + size_text(*row.bytes) : "", row.group, time_text(row.wire), trace.system.value_or("the machine"));
  }
  return 2 * impossible >= judged ? first : std::string{};
}

/// The machine that was named has other GPUs; empty: it has not.
[[nodiscard]] std::string contradiction_in(const TraceAnswer& trace, const Machine& machine) {
  if (!machine) return {};
  const auto system = machine.get();
  for (const TracedRank& one : trace.ranks)
    if (std::string other = other_gpu(*system, one.gpu); !other.empty()) return other;
  return {};
}

void nothing_to_judge(Diagnosis& out, const std::string& why, Finding cause) {
  out.state = RunState::nothing_to_judge;
  out.healthy = false;
  out.verdict = "nothing to judge: " + why;
  out.causes = {std::move(cause)};
}

}  // namespace

bool asks_of_traces(const DiagnoseRequest& request) {
  return is_profile(request.log) && std::all_of(request.more.begin(), request.more.end(), [](const auto& one) { return is_profile(one); });
}

Diagnosis diagnosis_of_traces(const DiagnoseRequest& request) {
  if (!request.expected.empty() || !request.against.empty() || request.nodes > 0 || request.ranks > 0)
    throw Refusal("<expected>, <against>, <nodes> and <ranks> are for logs: a trace says them itself");
  TraceRequest asked;
  asked.files.push_back({request.log.string()});
  for (const std::string& one : request.more) asked.files.push_back({one});
  asked.system = request.system;
  asked.overrides = request.overrides;
  if (!request.calibration.empty()) asked.system.calibration = request.calibration;
  const TraceAnswer trace = answer(asked);
  Diagnosis out;
  out.notes = trace.notes;
  for (std::string& note : out.notes) note = with_fields(note, as_member);
  const diagnosis::Rules& rules = diagnosis::load_rules();
  const diagnosis::Row* const late = rule_with(rules, "inspector_late");
  for (const std::string& finding : trace.findings)
    if (finding.starts_with("Rank ") || finding.find(" takes ") != std::string::npos)
      out.causes.push_back(cause_of(finding, late));
    else
      out.notes.push_back(finding);
  for (const TracedCollective& row : trace.collectives)
    if (const auto size = size_of(trace, row)) out.sizes.push_back(*size);
  std::stable_sort(out.sizes.begin(), out.sizes.end(), [](const DiagnosedSize& a, const DiagnosedSize& b) { return a.bytes < b.bytes; });
  if (trace.system) out.system = *trace.system;
  out.system_guessed = trace.system_guessed;
  out.healthy = out.causes.empty() && !out.sizes.empty();
  out.state = !out.causes.empty() ? RunState::slow : out.sizes.empty() ? RunState::nothing_to_judge : RunState::as_predicted;
  out.verdict = out.state == RunState::slow ? "slow: " + out.causes.front().evidence
                : out.state == RunState::as_predicted
                    ? fmt::format("as predicted: {} kinds of collectives take what they should", out.sizes.size())
                    : "nothing to judge: no collective of the traces has a prediction and all its ranks";
  for (const std::optional<Expected>& one : found_of(trace).expected)
    if (one) {
      out.basis = one->basis;
      break;
    }
  if (const std::string other = contradiction_in(trace, request.system); !other.empty())
    nothing_to_judge(out, other,
                     {Cause::wrong_machine, 1, other, "name the machine that ran it, or none, and it is found from the traces"});
  else if (const std::string first = impossible_in(trace); !first.empty())
    nothing_to_judge(out, "impossible: the times or the sizes of these traces are not what they say",
                     {Cause::other, 0.99, first,
                      "look at the unit of the times and at the sizes; if the machine is another one, or has SHARP, name it", "impossible times"});
  return out;
}

}  // namespace fabricost::observe::detail
