/// Evaluates the rows: those that hold, with their words from the file.

#include "diagnose/context.hpp"
#include "text/ascii.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace fabricost::observe::diagnosis {

namespace {

using NamedFacts = std::vector<std::pair<std::string_view, std::string>>;

/// The text with {names} replaced by facts; if two facts share a name, by the first.
std::string filled(std::string_view text, const NamedFacts& facts) {
  std::string out;
  while (!text.empty()) {
    const auto open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = text.find('}', open);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const auto fact = std::find_if(facts.begin(), facts.end(), [&](const auto& one) { return one.first == name; });
    out += fact == facts.end() ? text.substr(open, close - open + 1) : std::string_view{fact->second};
    text.remove_prefix(close == std::string_view::npos ? text.size() : close + 1);
  }
  out.erase(0, out.find_first_not_of(' '));  // before it a fact that is not known
  return out;
}

/// Whether the term holds; its facts are appended.
bool holds(const Term& term, const Context& c, NamedFacts& facts, int& last_line) {
  if (term.signal == nullptr) {
    const Seen& seen = c.info.seen(term.name);
    if (term.negated) return seen.times == 0;
    if (seen.events == 0) return false;
    last_line = std::max(last_line, seen.last_event);
    facts.emplace_back("line", cited(seen));
    facts.emplace_back(term.name, cited(seen));
    return true;
  }
  auto given = term.signal->test(c, term.numbers);
  if (given && !term.negated)
    for (std::size_t i = 0; i < given->size() && i < term.signal->facts.size(); ++i)
      facts.emplace_back(term.signal->facts[i], std::move((*given)[i]));
  return given.has_value() != term.negated;
}

bool all_hold(const std::vector<Condition>& conditions, const Context& c, NamedFacts& facts, int& last_line) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& one) {
    return std::any_of(one.begin(), one.end(), [&](const Term& term) { return holds(term, c, facts, last_line); });
  });
}

Clue clue_of(const Row& row, const NamedFacts& facts) {
  Cause cause = row.cause.value_or(Cause::other);
  for (const auto& [name, value] : facts)
    for (std::size_t i = 0; !row.cause && name == "cause" && i < cause_names.size(); ++i)
      if (cause_names[i] == value) cause = static_cast<Cause>(i);
  return {{cause, row.weight, filled(row.evidence, facts), filled(row.remedy, facts), row.what, row.id}, row.role, 0, row.event, row.device};
}

/// A variable quoted with a figure was set in a separate run: it is compared there and not blamed here.
bool belongs_to_a_figure(const Context& c, const Setting& setting) {
  return !setting.by_nccl && std::any_of(c.quoted.begin(), c.quoted.end(), [&](const Quoted& q) {
    return q.line.number == setting.line.number &&
           std::any_of(q.settings.begin(), q.settings.end(), [&](const auto& s) { return s.first == setting.name; });
  });
}

/// The strongest row of each cause, the causes in the order of their rows.
void clues_of_settings(const RuleFile& file, const Context& c, std::vector<Clue>& out) {
  std::vector<Cause> causes;
  for (const SettingRow& one : file.settings)
    if (std::find(causes.begin(), causes.end(), *one.row.cause) == causes.end()) causes.push_back(*one.row.cause);
  for (const Cause cause : causes) {
    std::optional<Clue> best;
    for (const Setting& setting : c.info.settings) {
      if (belongs_to_a_figure(c, setting)) continue;
      for (const SettingRow& one : file.settings) {
        if (one.row.cause != cause || one.variable != setting.name || !one.value.fits(setting.value)) continue;
        if (best && best->finding.confidence >= one.row.weight) continue;
        NamedFacts facts{{"line", cited(setting.line)}, {"what", one.what}, {"variable", setting.name}, {"value", setting.value}};
        int line = 0;
        if (all_hold(one.row.when, c, facts, line)) best = clue_of(one.row, facts);
      }
    }
    if (best) out.push_back(std::move(*best));
  }
}

/// Without "=" a value of NCCL_IB_HCA is a prefix, and the name of a driver one of all its adapters (NCCL's documentation).
bool names_one_adapter(std::string_view value) {
  constexpr std::array<std::string_view, 4> drivers{"mlx4", "mlx5", "hfi1", "cxgb4"};  // of Linux, drivers/infiniband/hw, that end in a digit
  if (value.empty() || value.find_first_of(",^") != std::string_view::npos) return false;
  return is_digit(value.back()) && std::find(drivers.begin(), drivers.end(), value) == drivers.end();
}

std::optional<Facts> one_adapter_chosen(const Context& c, const Numbers&) {
  const Setting* hca = c.info.setting("NCCL_IB_HCA");
  if (hca == nullptr || !names_one_adapter(hca->value) || belongs_to_a_figure(c, *hca)) return std::nullopt;
  if (c.ranks_per_node() < 2 || c.nodes() == 1 || c.info.adapters.size() > 1) return std::nullopt;
  const Tier* nic = c.system ? c.system->tier(TierRole::nic) : nullptr;
  if (nic != nullptr && nic->endpoints == 1) return std::nullopt;
  return Facts{cited(hca->line), fmt::format("{}", c.ranks_per_node())};
}

}  // namespace

std::span<const Signal> setting_signals() {
  static const std::vector<Signal> all{{"one_adapter_chosen", one_adapter_chosen, {"line", "ranks"}}};
  return all;
}

bool all_hold(const std::vector<Condition>& conditions, const Context& c) {
  NamedFacts facts;
  int line = 0;
  return all_hold(conditions, c, facts, line);
}

std::vector<const Signal*> all_signals() {
  std::vector<const Signal*> out;
  for (const auto& some :
       {network_signals(), node_signals(), run_signals(), setting_signals(), curve_signals(),
        quoted_signals(), expectation_signals(), rank_report_signals(), dump_signals(),
        stated_signals(), pair_signals()})
    for (const Signal& one : some) out.push_back(&one);
  return out;
}

std::vector<std::string> placeholders(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const auto close = text.find('}', open);
    if (close == std::string_view::npos) break;
    out.emplace_back(text.substr(open + 1, close - open - 1));
  }
  return out;
}

std::vector<Clue> clues_of(const RuleFile& file, const Context& c, std::span<const Role> roles) {
  const auto wanted = [&](Role role) { return std::find(roles.begin(), roles.end(), role) != roles.end(); };
  std::vector<Clue> out;
  clues_of_settings(file, c, out);
  std::erase_if(out, [&](const Clue& one) { return !wanted(one.role); });
  for (const std::vector<Row>& group : file.groups)
    for (const Row& row : group) {
      NamedFacts facts;
      int line = 0;
      if (!wanted(row.role) || !all_hold(row.when, c, facts, line)) continue;
      out.push_back(clue_of(row, facts));
      out.back().last_line = line;
      break;
    }
  return out;
}

}  // namespace fabricost::observe::diagnosis
