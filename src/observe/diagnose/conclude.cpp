/// The verdict, of five: the run failed, it is slow, slower than predicted, as predicted, or there is nothing to judge. A failure is a line
/// that says so and after which the table does not go on: measurements outvote words, but not those of a device that is failing. A run is
/// slow if a fault is proven, or a hint remains that the comparison does not refute, or the comparison is outside the prediction's interval. A
/// line that speaks of an error which no rule explains is a failure that is not understood.

#include "diagnose/context.hpp"
#include "text/quantile.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace fabricost::observe::diagnosis {

namespace {

/// What a rule says of its finding, or the name of the cause.
std::string in_words(const Finding& f) {
  constexpr std::string_view also = "or ";  // of a rule that stands beside another
  return f.what.empty() ? std::string{name(f.cause)} : f.what.substr(f.what.starts_with(also) ? also.size() : 0);
}

/// The cause as a verdict of slowness names it; "other" says nothing, so its words.
std::string likely(const Finding& f) { return f.cause == Cause::other ? in_words(f) : std::string{name(f.cause)}; }

bool likelier(const Finding& a, const Finding& b) { return a.confidence > b.confidence; }

/// The failure that the rules of unexplained.yaml name.
constexpr std::string_view not_understood = "not understood";

double log_odds(double share) { return std::log(share / (1 - share)); }

/// The line that a finding cites, or the first words of its arithmetic.
std::string_view place(const Finding& f) { return std::string_view{f.evidence}.substr(0, f.evidence.find(':')); }

/// The findings of one cause become one. Its log odds are those of the strongest, and for each further line or figure a share of
/// the log likelihood ratio of its weight against the share of runs that have the cause anyway. Findings from one line count once.
void merge(std::vector<Finding>& findings, const Context& c) {
  const Numbers& n = c.numbers("judgement");
  constexpr std::size_t quoted = 2;
  std::stable_sort(findings.begin(), findings.end(), likelier);
  std::vector<Finding> out;
  std::map<Cause, std::set<std::string>> places;
  for (Finding& one : findings) {
    auto& seen = places[one.cause];
    const bool fresh = seen.insert(std::string{place(one)}).second;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Finding& f) { return f.cause == one.cause; });
    if (same == out.end()) {
      out.push_back(std::move(one));
    } else if (fresh) {
      if (seen.size() <= quoted) same->evidence += "; " + one.evidence;
      const double ratio = log_odds(one.confidence) - log_odds(n["met_by_chance"]);
      if (same->confidence < 1 && ratio > 0)
        same->confidence = 1 / (1 + std::exp(-(log_odds(same->confidence) + n["further_lines"] * ratio)));
    }
  }
  findings = std::move(out);
  std::stable_sort(findings.begin(), findings.end(), likelier);
}

/// The commands that best separate the remaining causes. The outcome of a command is known for each cause, so its gain is the
/// entropy of its outcomes; each is chosen after those before it, and of two with equal gain the one about fewer causes. An outcome that no
/// rule names has the probability that none of the causes holds.
std::vector<NextQuestion> questions_for(const std::vector<Finding>& causes, const Context& c) {
  constexpr std::size_t most = 3;
  constexpr int hundredths = 100;
  const double least = c.numbers("judgement")["least_bits"];
  std::vector<double> shares;
  double none = 1, sum = 0;
  for (const Finding& one : causes) {
    shares.push_back(one.confidence);
    none *= 1 - one.confidence;
  }
  shares.push_back(none);
  for (const double share : shares) sum += share;
  std::vector<std::vector<std::size_t>> outcomes(shares.size());  // of the questions asked so far, for each cause
  std::vector<NextQuestion> out;
  std::set<const Question*> asked;
  double settled = 0;
  while (out.size() < most && sum > 0) {
    const Question* best = nullptr;
    double gain = 0;
    std::pair rank{std::lround(hundredths * least), 0L};
    std::vector<std::vector<std::size_t>> after;
    for (const Question& q : c.rules->questions) {
      if (asked.contains(&q) || !all_hold(q.when, c)) continue;
      auto with = outcomes;
      std::map<std::vector<std::size_t>, double> parts;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        std::size_t group = q.groups.size();
        for (std::size_t g = 0; i < causes.size() && g < q.groups.size(); ++g)
          if (std::find(q.groups[g].begin(), q.groups[g].end(), causes[i].cause) != q.groups[g].end()) group = g;
        with[i].push_back(group);
        parts[with[i]] += shares[i] / sum;
      }
      double bits = 0;
      for (const auto& [outcome, share] : parts) bits -= share > 0 ? share * std::log2(share) : 0;
      long named = 0;
      for (const auto& group : q.groups) named += std::ssize(group);
      if (std::pair{std::lround(hundredths * (bits - settled)), -named} <= rank) continue;
      rank = {std::lround(hundredths * (bits - settled)), -named};
      gain = bits - settled;
      best = &q;
      after = std::move(with);
    }
    if (best == nullptr) break;
    asked.insert(best);
    outcomes = std::move(after);
    settled += gain;
    out.push_back({best->ask, best->tells, gain});
  }
  return out;
}

/// The first finding of the rows of one role, over all files.
std::optional<Finding> first_of(const Context& c, Role role) {
  for (const RuleFile& file : c.rules->files)
    for (Clue& clue : clues_of(file, c, {&role, 1})) return std::move(clue.finding);
  return std::nullopt;
}

/// The findings of all rows, in the groups that a verdict needs.
struct Spoken {
  std::vector<Finding> failures, faults, defences;
  std::vector<RuleSeen> rules;
  std::vector<Finding> outlived;  ///< events that the table shows to have cost nothing
  bool accused = false, proven = false;
  bool failing = false;   ///< a failure is of a device, and of no run that was slow
  bool damaged = false;   ///< the results are wrong
  bool happened = false;  ///< a fault is an event, not only the name of a device or a usual setting
  int last_failure = 0;  ///< the last line of a failure
  bool placed = true;    ///< every failure has a line
};

Spoken spoken(const Context& c) {
  constexpr std::array roles{Role::proof, Role::hint, Role::defence, Role::failure, Role::damage};
  // a whole table at its prediction was measured, whatever was said after it
  const bool whole = c.judged.compared && !c.judged.slow && !c.judged.slow_small && !c.info.averages.empty();
  Spoken out;
  for (const RuleFile& file : c.rules->files)
    for (Clue& clue : clues_of(file, c, roles)) {
      if (clue.finding.cause == Cause::roce_untuned && c.over_infiniband()) {
        if (clue.role == Role::hint) continue;
        clue.finding.cause = Cause::link_failed;  // what there is to tune of Ethernet is not there
      }
      const bool failing = clue.device == OfDevice::failing && !c.in_doubt();
      out.failing = out.failing || failing;
      out.damaged = out.damaged || clue.role == Role::damage;
      // a table that goes on after the line was measured all the same
      const bool outlived = clue.role == Role::failure && clue.last_line > 0 && (clue.last_line < c.last_row || whole);
      if (failing)
        clue.role = Role::failure;
      else if (outlived)
        clue.role = Role::hint;
      out.accused = out.accused || (!file.other_runs && (clue.role == Role::proof || (clue.role == Role::hint && c.in_doubt())));
      if (clue.role != Role::hint || c.in_doubt()) out.rules.push_back({clue.finding.rule, clue.finding.cause, clue.finding.confidence});
      if (clue.role == Role::failure || clue.role == Role::damage) {
        out.last_failure = std::max(out.last_failure, clue.last_line);
        out.placed = out.placed && clue.last_line > 0;
        out.failures.push_back(std::move(clue.finding));
      } else if (clue.role == Role::defence) {
        out.defences.push_back(std::move(clue.finding));
      } else if (clue.role == Role::proof || c.in_doubt()) {
        out.proven = out.proven || clue.role == Role::proof;
        out.happened = out.happened || clue.event;
        out.faults.push_back(std::move(clue.finding));
      } else if (outlived || clue.device != OfDevice::no) {
        out.outlived.push_back(std::move(clue.finding));
      }
    }
  merge(out.defences, c);
  return out;
}

void conclude_failure(Diagnosis& out, const Context& c, Spoken& all) {
  const double beside = c.numbers("judgement")["beside_a_failure"];
  for (Finding& fault : all.faults) fault.confidence *= beside;
  std::vector<Finding> failures = std::move(all.failures);
  std::vector<Finding> causes = failures;
  for (Finding& fault : all.faults) causes.push_back(std::move(fault));
  merge(failures, c);
  merge(causes, c);
  const Finding& first = failures.front();
  out.state = RunState::failed;
  out.healthy = false;
  out.causes = std::move(causes);
  out.verdict = fmt::format("failed: {} ({})", in_words(first), first.evidence);
  if (all.failing && !all.damaged && c.judged.compared) out.verdict += "; what was measured is not slow: " + compared_in_words(c);
}

/// "128 NVIDIA B200 on 16 nodes: try --system dgx-b200; ", or that a name helps.
std::string named_machines(const Context& c) {
  const std::string possible = possible_machines(c.info);
  return possible.empty() ? "give one that fabricost machine lists (--system NAME); " : possible + "; ";
}

/// Neither a table nor a figure nor times of steps: only words speak.
bool nothing_measured(const Context& c) {
  return c.curve.empty() && c.sizes.empty() && c.quoted.empty() && c.info.averages.empty() && c.steps.empty() && c.siblings.empty();
}

/// What a forced setting costs by prediction, and whether the run is as predicted with it: "...; ".
std::string forced_in_words(const Forcing& forced, const Context& c) {
  const DiagnosedSize& at = *c.judged.at;
  const std::string costs = fmt::format("costs {:.0f} %: {} without", 100 * forced.share, gigabytes(forced.without));
  if (!c.judged.above && at.measured <= at.high) return fmt::format("as predicted with {}, which {}; ", forced.settings, costs);
  return fmt::format("slower than predicted by x{:.3g}, too little to call it a fault, with {}, which by itself {}; ", c.judged.ratio,
                     forced.settings, costs);
}

/// "16 ranks, all 40 calls completed": what dumps of the flight recorder show where nothing is wrong; empty: there are none, or a call is open.
std::string completed_in_words(const FlightDumps& all) {
  std::size_t least = std::numeric_limits<std::size_t>::max(), most = 0;
  for (const FlightDump& one : all.dumps) {
    if (std::any_of(one.entries.begin(), one.entries.end(), [](const auto& e) { return e.state != FlightEntry::State::completed; })) return {};
    least = std::min(least, one.entries.size());
    most = std::max(most, one.entries.size());
  }
  if (most == 0) return {};
  return fmt::format("{} rank{}, all {} calls completed", all.dumps.size(), all.dumps.size() == 1 ? "" : "s",
                     least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most));
}

/// One step alone that takes several times as long as most, which may be a checkpoint; empty: there is none, or several, which a rule tells.
std::string lone_stall(const Context& c) {
  const Numbers& n = c.numbers("steps_stall");
  std::vector<double> seconds;
  for (const StepTime& one : c.steps) seconds.push_back(one.seconds - one.waited);
  if (static_cast<double>(seconds.size()) < n["steps"]) return {};
  const auto longest = std::max_element(seconds.begin() + static_cast<std::ptrdiff_t>(n["warm"]), seconds.end());
  const StepTime& step = c.steps[static_cast<std::size_t>(longest - seconds.begin())];
  const double slowest = *longest, factor = slowest / lower_median(seconds);
  if (!(factor > n["ratio"])) return {};
  return fmt::format("; one step takes {:.2g} times as long as most, a checkpoint or a stall ({}line {})", factor,
                     step.line.file.empty() ? "" : step.line.file + " ", step.line.number);
}

/// Why the named machine could not be priced; empty: it could, or no note says so.
std::string not_compared(const Diagnosis& out) {
  constexpr std::string_view begin = "no comparison: ";
  const auto one = std::find_if(out.notes.begin(), out.notes.end(), [&](const std::string& note) { return note.starts_with(begin); });
  return one == out.notes.end() ? std::string{} : one->substr(begin.size());
}

void conclude_comparison(Diagnosis& out, const Context& c, Spoken& all) {
  auto& [failures, faults, defences, rules, outlived, accused, proven, failing, damaged, happened, last_failure, placed] = all;
  merge(faults, c);
  if (const auto wrong = first_of(c, Role::expectation)) {
    // a user whose run exceeds the expectation does not ask why another quoted run was slow
    const bool exceeded = !accused && exceeds_expectation(c);
    // a run that meets it at its best size may still have a fault at others: hints about those stay
    const bool answers = c.judged.compared || !meets_expectation(c);
    const bool fulfilled = meets_expectation(c) && !exceeds_expectation(c) && c.judged.compared && !c.judged.slow;
    const bool stands = !fulfilled && (exceeded || (!proven && (faults.empty() || !c.judged.slow) &&
                                     (faults.empty() || (answers && wrong->confidence >= faults.front().confidence))));
    if (stands) defences.insert(defences.begin(), *wrong);
    if (stands) faults.clear();
    if (fulfilled)
      out.notes.push_back("it is as fast as you expected: " + c.expected.typed);
    else if (!stands)
      out.notes.push_back("about the expectation: " + wrong->evidence);
  }
  if (!faults.empty() && !defences.empty() && !proven && defences.front().confidence >= faults.front().confidence) faults.clear();
  if (faults.empty() && defences.empty())
    if (auto unexplained = first_of(c, Role::last_resort)) {
      faults.push_back(std::move(*unexplained));
      happened = true;
    }
  const bool fine = faults.empty(), judged = c.judged.compared || !defences.empty();
  const bool only_named = !fine && !happened && nothing_measured(c);
  const bool sound_table = c.judged.compared && c.judged.large && !c.judged.above && !c.judged.slow_small && c.judged.at->measured <= c.judged.at->high;
  const bool cut = !c.ends_early.empty(), cut_small = fine && cut && !c.judged.large;
  const RunState sound = c.judged.above ? RunState::slower_than_predicted : RunState::as_predicted;
  out.state = only_named || cut_small ? RunState::nothing_to_judge : !fine ? RunState::slow : judged ? sound : RunState::nothing_to_judge;
  out.healthy = fine && !cut && (judged || !c.curve.empty() || !c.info.averages.empty());
  out.causes = fine ? std::move(defences) : std::move(faults);
  const std::optional<Forcing> forced = fine ? c.forcing() : std::nullopt;
  if (fine && !forced && out.causes.size() > 1) out.causes.resize(1);
  std::string compared = compared_in_words(c);
  if (const std::string completed = completed_in_words(c.dumps->flights); !c.judged.compared && c.curve.empty() && !completed.empty())
    compared = completed;
  const std::string why_not = c.system ? not_compared(out) : std::string{};
  if (!why_not.empty() && c.nodes_assumed) compared.clear();  // there is a table
  if (c.info.has("ibnetdiscover") && !c.judged.compared && c.curve.empty())
    compared = "the output of ibnetdiscover is not read: ibstat of the nodes says the rates of their ports";
  if (cut_small)
    out.verdict = fmt::format("nothing to judge: the run ended at {}: hung, killed or cut; {}{}", c.ends_early,
                              !c.system && !c.curve.empty() ? named_machines(c) : std::string{}, compared);
  else if (forced && !c.judged.faster)
    out.verdict = forced_in_words(*forced, c) + compared;
  else if (fine && !out.causes.empty() && !c.judged.above)
    out.verdict = fmt::format("as predicted, and here is why it looks {}: {}", exceeds_expectation(c) ? "high" : "low", compared);
  else if (out.state == RunState::slower_than_predicted)
    out.verdict = fmt::format("slower than predicted by x{:.3g}, too little to call it a fault: {}", c.judged.ratio, compared);
  else if (fine) {
    const bool far = c.judged.compared && std::fabs(std::log(c.judged.ratio)) > std::log(c.numbers("judgement")["margin_of_guess"]) &&
                     c.judged.at->measured >= c.judged.at->low && c.judged.at->measured <= c.judged.at->high;
    out.verdict = (c.judged.faster                 ? fmt::format("faster than predicted by x{:.3g}, beyond its range: ", 1 / c.judged.ratio)
                   : c.judged.compared             ? std::string{far ? "as predicted, within a wide range: " : "as predicted: "}
                   : !why_not.empty()              ? fmt::format("nothing to judge: {}{}", why_not, compared.empty() ? "" : "; ")
                   : !c.system && !c.curve.empty() ? std::string{"nothing to judge until the machine is named: "} + named_machines(c)
                   : c.info.has("ibnetdiscover")
                       ? std::string{"nothing to judge: "}
                       : std::string{c.unplaced ? "nothing to judge: " : "nothing to judge, and nothing speaks against this run: "}) +
                  compared + lone_stall(c);
  } else if (c.judged.slow || (c.judged.slow_small && !proven))
    out.verdict = "slow: " + compared;
  else if (nothing_measured(c))
    out.verdict = fmt::format("nothing was measured, but {}likely {}: {}", only_named ? "were it slow, " : "",
                              likely(out.causes.front()), out.causes.front().evidence);
  else if (sound_table && !c.judged.at->test.empty()) {
    out.verdict = fmt::format("slow, likely {}, though most cells are as predicted: {}", likely(out.causes.front()), out.causes.front().evidence);
    out.normal.clear();
  } else if (sound_table)
    out.verdict = fmt::format("likely {}, though large messages are as predicted ({}): {}", likely(out.causes.front()), compared,
                              out.causes.front().what.empty() ? out.causes.front().evidence : in_words(out.causes.front()));
  else
    out.verdict = fmt::format("slow, likely {}: {}", likely(out.causes.front()),
                              c.curve.empty() && c.sizes.empty() ? out.causes.front().evidence : compared);
  if (cut && !cut_small) out.verdict += fmt::format("; the run ended at {}: hung, killed or cut", c.ends_early);
}

/// Two ranks that may share a node are as fast as those of two nodes only by a fault of the node: the comparison of others decides nothing.
void ask_for_nodes(Diagnosis& out, const Context& c) {
  if (!c.nodes_assumed || !c.judged.compared || c.system->gpus_per_node < 2 || !out.fine()) return;
  out.state = RunState::nothing_to_judge;
  out.healthy = false;
  out.verdict =
      "nothing to judge: the log does not say whether its two ranks share a node: say so with --nodes 1 or --nodes 2; of two nodes it is " +
      out.verdict;
}

/// What a reader has to know of the machine that was compared with, beside the comparison.
void add_about_machine(Diagnosis& out, const Context& c) {
  if (!c.system || out.state == RunState::failed || !c.contradiction.empty()) return;
  if (!c.faster_than_without_sharp.empty())
    out.verdict += fmt::format("; faster than without SHARP ({}), so compared with it: name a machine that has it (--set nic.sharp=true, or "
                               "sharp: true in its file)",
                               c.faster_than_without_sharp);
  if (const std::string ports = slow_ports_in_words(c); c.judged.compared && !ports.empty()) out.verdict += "; " + ports;
  if (const std::string gpus = c.guessed ? std::string{} : gpus_differ(c.info, *c.system); !gpus.empty()) out.verdict += "; " + gpus;
  const std::string adapters = c.guessed ? std::string{} : adapters_differ(c.info, *c.system);
  if (!adapters.empty()) out.verdict += "; " + adapters;
}

/// Notes which information is missing from the log for a better answer.
void note_silence(Diagnosis& out, const Context& c) {
  if (out.state == RunState::failed) return;  // its remedy says what to collect
  const bool library_ran = (!c.curve.empty() && !c.transfers) || c.rows_follow || !c.quoted.empty();
  if (c.info.messages == 0 && library_ran)
    out.notes.push_back("no messages of NCCL: with NCCL_DEBUG=INFO the log would name version, adapters, GPUDirect, P2P and channels");
  else if (c.info.messages > 0 && c.info.versions.empty())
    out.notes.push_back("NCCL's version is not said");
  if (c.info.messages > 0 && c.info.net.empty() && c.nodes() > 1)
    out.notes.push_back("no \"via NET/...\" line: which adapters carry the channels is not said");
  if (c.info.messages > 0 && c.info.channels == 0) out.notes.push_back("the number of channels is not said");
  if (c.info.messages > 0 && !c.info.rank_lines.empty() && !c.info.has("communicator_made") && c.last_row == 0)
    out.notes.push_back("no rank says \"Init COMPLETE\": the log stops before the communicator was made, or leaves these lines out "
                        "(NCCL_DEBUG_SUBSYS without INIT)");
  if (!c.curve.empty() || !c.sizes.empty() || c.unplaced) return;
  if (c.steps.empty()) {
    out.notes.push_back("no table of nccl-tests: nothing was measured that could be compared");
    return;
  }
  std::vector<double> seconds;
  for (const StepTime& one : c.steps) seconds.push_back(one.seconds);
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double share) { return time_text(Time::from_value(quantile(seconds, share))); };
  out.notes.push_back(fmt::format("{} times of steps or samples: {} at the median, {} to {}; no table of nccl-tests to compare", seconds.size(),
                                  at(0.5), at(0), at(1)));
}

/// The signs of the rules behind the named causes. A rule for errors that are not understood explains no line.
std::set<std::string> explained_signs(const Diagnosis& out, const Context& c) {
  std::set<std::string> rules, signs;
  for (const RuleSeen& seen : out.rules)
    if (std::any_of(out.causes.begin(), out.causes.end(), [&](const Finding& f) { return f.cause == seen.cause; }))
      rules.insert(seen.rule);
  for (const RuleFile& file : c.rules->files)
    for (const std::vector<Row>& group : file.groups)
      for (const Row& row : group) {
        if (!rules.contains(row.id) || row.what == not_understood) continue;
        for (const Condition& one : row.when)
          for (const Term& term : one)
            if (!term.negated && term.signal == nullptr) signs.insert(term.name);
      }
  return signs;
}

/// Quotes the warnings of NCCL that no cause explains, whatever the verdict: a reader may know what they mean.
void quote_warnings(Diagnosis& out, const Context& c) {
  constexpr std::size_t most = 3;
  const std::set<std::string> signs = explained_signs(out, c);
  const auto said = [&](const std::string& text) {
    const auto quotes = [&](const std::string& where) { return where.find(text) != std::string::npos; };
    return std::any_of(out.causes.begin(), out.causes.end(), [&](const Finding& f) { return quotes(f.evidence); }) ||
           std::any_of(out.notes.begin(), out.notes.end(), quotes);
  };
  std::vector<std::string> notes;
  std::size_t more = 0;
  for (const Warning& one : c.info.warnings) {
    const bool explained =
        std::any_of(one.signs.begin(), one.signs.end(), [&](const std::string& sign) { return signs.contains(sign); });
    if (explained || said(one.first.text)) continue;
    if (notes.size() == most) {
      ++more;
      continue;
    }
    LogLine line = one.first;
    line.text = "NCCL WARN " + one.text;
    notes.push_back(fmt::format("not explained, {}{}", cited(line),
                                one.times > 1 ? fmt::format(" ({} such lines)", one.times) : std::string{}));
  }
  if (more > 0) notes.back() += fmt::format("; {} more kinds of warnings", more);
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
}

/// If no known failure is found and no fault is proven: explains the lines that report an error by the part of a library that they
/// name.
void explain_by_parts(Diagnosis& out, const Context& c, Spoken& all) {
  const bool as_predicted = c.judged.compared && !c.judged.slow && !c.judged.slow_small;
  const bool understood = std::any_of(all.failures.begin(), all.failures.end(),
                                      [](const Finding& f) { return f.what != not_understood; });
  if (understood || all.proven || as_predicted) return;
  const bool ended = !all.failures.empty();
  constexpr Role role = Role::unexplained;
  std::set<std::string> survived;
  for (const RuleFile& file : c.rules->files)
    for (Clue& clue : clues_of(file, c, {&role, 1})) {
      if (clue.last_line <= c.last_row && c.last_row > 0) continue;
      if (ended || clue.last_line > c.info.seen("communicator_made").last)
        all.failures.push_back(std::move(clue.finding));
      else if (survived.insert(clue.finding.evidence).second)  // the communicators were made after it
        out.notes.push_back("a warning that the start survived: " + clue.finding.evidence);
    }
}

/// What a program says before it answers requests, or goes through its steps, did not end it.
void survive(Diagnosis& out, const Context& c, Spoken& all) {
  const int last = std::max({all.last_failure, c.info.seen("error_line").last_event, c.info.seen("fatal_line").last_event});
  if (all.failures.empty() || all.damaged || !all.placed || c.info.seen("served").last <= last) return;
  for (const Finding& one : all.failures) out.notes.push_back("the run went on after it: " + one.evidence);
  all.failures.clear();
}

/// What happened and is no cause of the verdict.
void note_events(Diagnosis& out, const std::vector<Finding>& events) {
  for (const Finding& one : events) {
    const std::string where = fmt::format("{}:", place(one));
    const auto tells = [&](const Finding& f) { return f.evidence.find(where) != std::string::npos; };
    const auto quotes = [&](const std::string& note) { return note.find(where) != std::string::npos; };
    if (std::any_of(out.causes.begin(), out.causes.end(), tells) || std::any_of(out.notes.begin(), out.notes.end(), quotes)) continue;
    out.notes.push_back(fmt::format("also seen, {}: {}", in_words(one), one.evidence));
  }
}

void conclude_all(Diagnosis& out, const Context& c) {
  Spoken all = spoken(c);
  if (const auto impossible = first_of(c, Role::invalid)) {  // with such times no other rule is meaningful
    note_events(out, all.failures);
    note_events(out, all.outlived);
    out.healthy = false;
    out.causes = {*impossible};
    out.verdict = "nothing to judge: impossible: the times or the sizes of this log are not what they say";
    return;
  }
  out.rules = all.rules;
  explain_by_parts(out, c, all);
  survive(out, c, all);
  if (!all.failures.empty())
    conclude_failure(out, c, all);
  else
    conclude_comparison(out, c, all);
  note_events(out, all.outlived);
  ask_for_nodes(out, c);
  add_about_machine(out, c);
  if (c.contradiction.empty()) return;
  out.healthy = false;
  if (out.state == RunState::failed) {
    out.verdict = c.contradiction + "; " + out.verdict;
    return;
  }
  out.state = RunState::nothing_to_judge;
  out.verdict = "nothing to judge: " + c.contradiction;
  const char* const remedy = "name the machine that ran it, or none, and it is found from the log";
  out.causes.insert(out.causes.begin(), {Cause::wrong_machine, 1, c.contradiction, remedy, ""});
}

}  // namespace

bool says_a_failure(const Context& c) {
  const auto known = first_of(c, Role::failure);
  return known && known->what != not_understood;
}

void conclude(Diagnosis& out, const Context& c) {
  conclude_all(out, c);
  if (!out.causes.empty() && out.causes.front().what.starts_with("or ")) out.causes.front().what = in_words(out.causes.front());
  if (!out.fine()) out.next = questions_for(out.causes, c);
  quote_warnings(out, c);
  note_silence(out, c);
}

}  // namespace fabricost::observe::diagnosis
