/// Reads and turns the dials among a machine's overrides, and those that its file declares: their paths, filled with a value.
///
///   set: {nodes: "{}", leaf.oversubscription: "{/4}"}      {} is the value, {*N} and {/N} are N times and an Nth of it

#include "specs/parts/dials.hpp"

#include "specs/near_or_all.hpp"
#include "specs/overrides.hpp"
#include "specs/store.hpp"
#include "text/amounts.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/collective.hpp>
#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace fabricost::core {

namespace {

constexpr std::size_t max_dials = 64, max_settings = 64;

struct Blank {
  std::size_t begin = 0, end = 0;  ///< with its braces
  double times = 1;
  bool verbatim = true;  ///< {}: takes words, too
};

/// The place of a value in a template; none where there is none, or a second one, or it is no {}, {*N}, {/N}.
[[nodiscard]] std::optional<Blank> blank_in(std::string_view text) {
  const std::size_t open = text.find('{'), close = text.find('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  if (text.find('{', open + 1) != std::string_view::npos || text.find('}', close + 1) != std::string_view::npos) return std::nullopt;
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  Blank out{open, close + 1};
  if (inside.empty()) return out;
  std::string_view rest;
  const double factor = leading_number(inside.substr(1), rest);
  if (!rest.empty() || !(factor > 0 && factor < 1e12) || (inside.front() != '*' && inside.front() != '/')) return std::nullopt;
  out.times = inside.front() == '*' ? factor : 1 / factor;
  out.verbatim = false;
  return out;
}

[[nodiscard]] std::string written(double value) {
  return value == std::floor(value) && std::fabs(value) < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{:.12g}", value);
}

/// The number of "72", or of "100 GB/s" where that is the dial's unit.
[[nodiscard]] std::optional<double> number_of(std::string_view text, std::string_view unit) {
  std::string_view rest;
  const double out = leading_number(text, rest);
  return std::isfinite(out) && out > 0 && out < 1e18 && (rest.empty() || rest == unit) ? std::optional{out} : std::nullopt;
}

void check_settings(const SpecNode& tree, const SpecNode& set, MapReader& in, Faults& faults, const std::string& path) {
  if (set.kind != SpecNode::Kind::map || set.entries.empty() || set.entries.size() > max_settings) {
    in.fault(set, "set", "sets nothing", fmt::format("write 1 to {} lines PATH: \"{{}}\"", max_settings));
    return;
  }
  for (const SpecNode::Entry& entry : set.entries) {
    const std::string where = fmt::format("{}.set.{}", path, entry.key);
    if (entry.value.kind != SpecNode::Kind::scalar || !blank_in(entry.value.text)) {
      faults.add(issue_at(entry.value.mark, where, "has no place for the value", "write it once, as in \"{}\", \"{*2}\" or \"{/4} GB/s\""));
      continue;
    }
    std::string inside = entry.key;
    if (is_gpu_path(inside)) continue;  // of the GPU's own file, which is checked when the dial is turned
    SpecNode copy = tree;
    try {
      apply_override(copy, entry.key, "1");
    } catch (const SpecError& error) {
      faults.add(issue_at(entry.mark, where, error.issues().front().message, error.issues().front().remedy));
    }
  }
}

}  // namespace

bool same_unknown(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '.' || c == '-' ? '_' : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return plain(x) == plain(y); });
}

std::optional<Dial> dial_named(std::string_view text) {
  const auto found = std::find_if(dial_names.begin(), dial_names.end(), [&](std::string_view name) { return same_unknown(text, name); });
  if (found == dial_names.end()) return std::nullopt;
  return static_cast<Dial>(found - dial_names.begin());
}

bool is_link_rate(Dial dial) { return dial == Dial::nic_bandwidth || dial == Dial::scale_up_bandwidth; }

double dial_value(Dial dial, const std::string& text, std::string_view named) {
  constexpr double most = 1e6;
  switch (dial) {
    case Dial::nic_bandwidth:
    case Dial::scale_up_bandwidth: return link_rate_of(text, named);
    case Dial::hbm_bandwidth: return storage_rate_of(text, named);
    case Dial::hbm_size: return stated_size_of(text, named);
    case Dial::arithmetic: return number_from(text, named, 1 / most, most);
    case Dial::nic_count:
    case Dial::domain: return whole_number_from(text, named, 1, static_cast<int>(most));
  }
  return 0;
}

std::vector<std::pair<Dial, double>> take_dials(std::vector<std::pair<std::string, std::string>>& overrides) {
  constexpr std::string_view prefix = "dial.";
  std::vector<std::pair<Dial, double>> out;
  for (const auto& [path, value] : overrides) {
    if (!path.starts_with(prefix)) continue;
    const auto found = dial_named(std::string_view{path}.substr(prefix.size()));
    if (!found)
      throw Refusal(
          fmt::format("<overrides> {}: no such dial; {}", path, near_or_all(std::string_view{path}.substr(prefix.size()), dial_names)));
    std::string_view amount = value;
    while (amount.starts_with(' ')) amount.remove_prefix(1);
    out.emplace_back(*found, dial_value(*found, std::string{amount}, path));
  }
  std::erase_if(overrides, [&](const auto& one) { return one.first.starts_with(prefix); });
  return out;
}

void turn(System& system, const std::vector<std::pair<Dial, double>>& dials, OverriddenParts& altered) {
  for (const auto& [dial, value] : dials) {
    system = with_dial(std::move(system), dial, value);
    (dial == Dial::nic_bandwidth || dial == Dial::nic_count ? altered.outside : altered.inside) = true;
    if (dial == Dial::domain) altered.outside = true;
  }
}

std::vector<DeclaredDial> read_declared_dials(const SpecNode& tree, Faults& faults) {
  std::vector<DeclaredDial> out;
  const SpecNode* const dials = tree.find("dials");
  if (dials == nullptr) return out;
  if (dials->kind != SpecNode::Kind::map || dials->entries.empty() || dials->entries.size() > max_dials) {
    faults.add(
        issue_at(dials->mark, "dials", "is no map of dials", fmt::format("write 1 to {} as NAME: {{set: {{PATH: \"{{}}\"}}}}", max_dials)));
    return out;
  }
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'; };
  for (const SpecNode::Entry& entry : dials->entries) {
    const std::string path = fmt::format("dials.{}", entry.key);
    if (entry.key.empty() || !std::all_of(entry.key.begin(), entry.key.end(), is_letter))
      faults.add(issue_at(entry.mark, path, "is no name of a dial", "names are lower case with digits, dots, dashes and underscores"));
    MapReader in(entry.value, path, faults);
    DeclaredDial dial{.name = entry.key, .title = in.text("title"), .unit = in.text("unit"), .values = {}};
    for (const SpecNode* one : in.texts("values")) {
      if (one->text.empty()) in.fault(*one, "values", "is an empty value", "leave it out");
      dial.values.push_back(one->text);
    }
    if (const SpecNode* const set = in.take("set", true)) check_settings(tree, *set, in, faults, path);
    in.finish();
    out.push_back(std::move(dial));
  }
  return out;
}

void spell_out_dials(const SpecNode& tree, std::vector<std::pair<std::string, std::string>>& overrides) {
  constexpr std::string_view prefix = "dial.";
  const SpecNode* const dials = tree.find("dials");
  if (dials == nullptr || dials->kind != SpecNode::Kind::map) return;
  std::vector<std::pair<std::string, std::string>> out;
  for (auto& [path, value] : overrides) {
    const SpecNode* const dial = path.starts_with(prefix) ? dials->find(std::string_view{path}.substr(prefix.size())) : nullptr;
    const SpecNode* const set = dial != nullptr ? dial->find("set") : nullptr;
    if (dial == nullptr) {
      out.emplace_back(path, value);
      continue;
    }
    if (set == nullptr || set->kind != SpecNode::Kind::map) continue;  // reported when the file is read
    std::string_view given = value;
    while (given.starts_with(' ')) given.remove_prefix(1);
    const SpecNode *const unit = dial->find("unit"), *const values = dial->find("values");
    const std::optional<double> number = number_of(given, unit != nullptr ? unit->text : "");
    const bool limited = values != nullptr && !values->items.empty();
    const bool allowed = !limited || std::any_of(values->items.begin(), values->items.end(), [&](const SpecNode& one) {
      return one.text == given || (number && number == number_of(one.text, unit != nullptr ? unit->text : ""));
    });
    if (!allowed || (!number && !limited)) {
      std::string all;
      for (std::size_t i = 0; limited && i < values->items.size(); ++i) all += (i > 0 ? " " : "") + values->items[i].text;
      throw Refusal(
          fmt::format("<overrides> {}: {} is no value of this dial; write {}", path, clipped(std::string{given}),
                      limited ? "one of: " + all : fmt::format("a number above zero{}", unit != nullptr ? " in " + unit->text : "")));
    }
    for (const SpecNode::Entry& entry : set->entries) {
      const std::optional<Blank> blank = blank_in(entry.value.text);
      if (!blank) continue;  // reported when the file is read
      if (!number && !blank->verbatim) throw Refusal(fmt::format("<overrides> {}: {} is no number", path, clipped(std::string{given})));
      out.emplace_back(entry.key, entry.value.text.substr(0, blank->begin) +
                                      (number ? written(*number * blank->times) : std::string{given}) +
                                      entry.value.text.substr(blank->end));
    }
  }
  overrides = std::move(out);
}

}  // namespace fabricost::core

namespace fabricost::core {

std::vector<DeclaredDial> declared_dials(std::string_view name_or_path) {
  SpecStore library;
  Faults faults;
  auto out = read_declared_dials(library.resolve("systems", name_or_path), faults);
  faults.raise();
  return out;
}

}  // namespace fabricost::core
