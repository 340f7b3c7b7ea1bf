/// Several tests of one log, each diagnosed by itself, in one answer: the worst state first, every cause with its test,
/// and single nodes that ran the same test beside each other.

#include "diagnose/context.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace fabricost::observe::diagnosis {

namespace {

/// Worst first.
int severity(RunState state) {
  constexpr std::array order{RunState::failed, RunState::slow, RunState::slower_than_predicted, RunState::as_predicted,
                             RunState::nothing_to_judge};
  return static_cast<int>(std::find(order.begin(), order.end(), state) - order.begin());
}

/// The rules about nodes that ran the same test, each alone.
RuleFile rules_of_nodes(const Rules& rules) {
  RuleFile out;
  for (const RuleFile& file : rules.files)
    for (const std::vector<Row>& group : file.groups)
      for (const Row& row : group)
        if (row.when.size() == 1 && row.when.front().front().name == "node_slower_than_its_siblings")
          out.groups.push_back({row});
  return out;
}

std::vector<Finding> of_nodes(const std::vector<Part>& parts, const Rules& rules) {
  std::map<std::string, std::vector<const Part*>> kinds;
  for (const Part& one : parts)
    if (!one.host.empty() && !one.curve.empty()) kinds[one.like].push_back(&one);
  constexpr Role role = Role::proof;
  const RuleFile file = rules_of_nodes(rules);
  std::vector<Finding> out;
  for (const auto& [like, some] : kinds) {
    double size = some.front()->curve.back().bytes;
    for (const Part* one : some) size = std::min(size, one->curve.back().bytes);
    Context c;
    for (const Part* one : some) {
      const auto row =
          std::find_if(one->curve.begin(), one->curve.end(), [&](const Shown& r) { return r.bytes >= size; });
      if (row == one->curve.end() || !(row->bus > 0)) continue;
      const auto known = std::find_if(c.siblings.begin(), c.siblings.end(), [&](const NodeRate& n) { return n.host == one->host; });
      if (known == c.siblings.end())
        c.siblings.push_back({one->host, row->bus, fmt::format("at {}", size_text(Bytes::from_value(row->bytes)))});
      else
        known->rate = std::max(known->rate, row->bus);  // what this node can do
    }
    if (c.siblings.size() < 2) continue;
    for (Clue& clue : clues_of(file, c, {&role, 1})) out.push_back(std::move(clue.finding));
  }
  return out;
}

/// The same cause of several tests as one, with the evidence of each.
void add_cause(std::vector<Finding>& causes, Finding one) {
  constexpr std::size_t longest = 600;
  const auto same = std::find_if(causes.begin(), causes.end(), [&](const Finding& f) { return f.cause == one.cause; });
  if (same == causes.end()) {
    causes.push_back(std::move(one));
    return;
  }
  if (same->evidence.size() + one.evidence.size() < longest) same->evidence += "; " + one.evidence;
  if (one.confidence > same->confidence) {
    one.evidence = same->evidence;
    *same = std::move(one);
  }
}

std::string without_state(std::string_view verdict) {
  for (const std::string_view state : {"failed: ", "slow: ", "slow, ", "as predicted: ", "as predicted, and ",
                                       "nothing to judge: ", "nothing to judge, and ",
                                       "nothing was measured, but "})
    if (verdict.starts_with(state)) return std::string{verdict.substr(state.size())};
  return std::string{verdict};
}

double best_of(const Part& part) {
  double best = 0;
  for (const Shown& row : part.curve) best = std::max(best, row.bus);
  return best;
}

/// A slow test beside one of the same ranks in the same file that runs as it should, where the headings say that something was varied and no line
/// says what else is wrong: the machine can do it, and the difference is what was varied.
void as_varied(std::vector<Part>& parts) {
  for (Part& slow : parts) {
    if (slow.answer.state != RunState::slow || slow.said.empty()) continue;
    const bool unexplained = std::all_of(slow.answer.causes.begin(), slow.answer.causes.end(), [](const Finding& f) {
      return f.rule.starts_with("comparison.") || f.rule.starts_with("settings.") || f.rule.starts_with("curve.");
    });
    const auto sound = std::find_if(parts.begin(), parts.end(), [&](const Part& other) {
      return (other.answer.state == RunState::as_predicted || other.answer.state == RunState::slower_than_predicted) &&
             other.file == slow.file && other.like == slow.like && other.host == slow.host && !other.said.empty() && other.said != slow.said;
    });
    if (!unexplained || sound == parts.end()) continue;
    slow.answer.state = RunState::nothing_to_judge;
    slow.answer.healthy = true;
    slow.answer.causes.clear();
    slow.answer.next.clear();
    slow.answer.verdict = fmt::format("nothing to judge: {} after \"{}\", where the same ranks reach {} in another run of this log: what was "
                                      "varied between them, and no fault of the machine",
                                      gigabytes(best_of(slow)), slow.said, gigabytes(best_of(*sound)));
  }
}

constexpr std::array<std::string_view, 5> state_words{"failed", "slow", "slower than predicted", "as predicted", "nothing to judge"};
std::string_view words_of(RunState state) { return state_words[static_cast<std::size_t>(state)]; }

/// "; a.log: as predicted": the other runs, where they are few enough to be named.
std::string others_in_words(const std::vector<Part>& parts, const Part& named) {
  constexpr std::size_t most = 3;
  std::string out;
  if (parts.size() > most) return out;
  for (const Part& one : parts)
    if (&one != &named) out += fmt::format("; {}: {}", one.place, words_of(one.answer.state));
  return out;
}

}  // namespace

Diagnosis together(std::vector<Part> parts, const Rules& rules) {
  as_varied(parts);
  Diagnosis out;
  const auto worse = [](const Part& a, const Part& b) { return severity(a.answer.state) < severity(b.answer.state); };
  const std::vector<Finding> nodes = of_nodes(parts, rules);
  const auto named = [&](const Part& one) { return !nodes.empty() && !one.host.empty() && nodes.front().evidence.starts_with(one.host + ": "); };
  const auto slowest = std::find_if(parts.begin(), parts.end(), named);
  const auto most_severe = std::min_element(parts.begin(), parts.end(), worse);
  const Part& worst = slowest != parts.end() && !worse(*most_severe, *slowest) ? *slowest : *most_severe;
  out.state = worst.answer.state;
  if (!nodes.empty() && severity(RunState::slow) < severity(out.state)) out.state = RunState::slow;
  out.system = worst.answer.system;
  out.basis = worst.answer.basis;
  if (!worst.answer.normal.empty()) out.normal = fmt::format("{}: {}", worst.place, worst.answer.normal);
  out.next = worst.answer.next;
  out.differences = worst.answer.differences;
  for (const Finding& one : nodes) add_cause(out.causes, one);
  std::size_t like_it = 0;
  for (Part& one : parts) {
    const Diagnosis& answer = one.answer;
    like_it += answer.state == worst.answer.state ? 1 : 0;
    out.healthy = out.healthy && answer.healthy;
    out.system_guessed = out.system_guessed || answer.system_guessed;
    out.rules.insert(out.rules.end(), answer.rules.begin(), answer.rules.end());
    for (DiagnosedSize& size : one.answer.sizes) size.run = one.place;
    out.sizes.insert(&one == &worst ? out.sizes.begin() : out.sizes.end(), answer.sizes.begin(), answer.sizes.end());
    if (answer.state != worst.answer.state)
      continue;  // what explains a run that is as predicted is no cause of another's
    for (Finding finding : answer.causes) {
      finding.evidence.insert(0, one.title + ": ");
      add_cause(out.causes, std::move(finding));
    }
  }
  out.healthy = out.healthy && nodes.empty();
  const auto likelier = [](const Finding& a, const Finding& b) { return a.confidence > b.confidence; };
  std::stable_sort(out.causes.begin(), out.causes.end(), likelier);
  const auto state = words_of(out.state);
  if (!nodes.empty() && out.state == RunState::slow) {
    out.verdict = fmt::format("slow: of {} different runs, {}", parts.size(), nodes.front().evidence);
  } else if (like_it == parts.size()) {
    out.verdict = fmt::format("{}: {} different runs, the first {}: {}{}", state, parts.size(), parts.front().title,
                              without_state(parts.front().answer.verdict), others_in_words(parts, parts.front()));
  } else {
    out.verdict = fmt::format("{}: {} of {} different runs, {}: {}{}", state, like_it, parts.size(), worst.title,
                              without_state(worst.answer.verdict), others_in_words(parts, worst));
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    out.notes.push_back(
        fmt::format("run {} of {}, {}: {}", i + 1, parts.size(), parts[i].title, parts[i].answer.verdict));
  for (const Part& one : parts)
    for (const std::string& note : one.answer.notes)
      if (std::find(out.notes.begin(), out.notes.end(), note) == out.notes.end()) out.notes.push_back(note);
  return out;
}

}  // namespace fabricost::observe::diagnosis
