/// Reads and turns the parameters among a machine's overrides, and those that its file declares: their paths, filled with a value.
///
///   set: {nodes: "{}", leaf.oversubscription: "{/4}"}      {} is the value, {*N} and {/N} are N times and an Nth of it

#include "specs/parts/design_parameters.hpp"

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

constexpr std::size_t max_parameters = 64, max_settings = 64;

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

/// The number of "72", or of "100 GB/s" where that is the parameter's unit.
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
    if (is_gpu_path(inside)) continue;  // of the GPU's own file, which is checked when the parameter is changed
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

std::optional<DesignParameter> parameter_named(std::string_view text) {
  const auto found = std::find_if(design_parameter_names.begin(), design_parameter_names.end(),
                                  [&](std::string_view name) { return same_unknown(text, name); });
  if (found == design_parameter_names.end()) return std::nullopt;
  return static_cast<DesignParameter>(found - design_parameter_names.begin());
}

bool is_link_rate(DesignParameter parameter) {
  return parameter == DesignParameter::nic_bandwidth || parameter == DesignParameter::scale_up_bandwidth;
}

double parameter_value(DesignParameter parameter, const std::string& text, std::string_view named) {
  constexpr double most = 1e6;
  switch (parameter) {
    case DesignParameter::nic_bandwidth:
    case DesignParameter::scale_up_bandwidth: return link_rate_of(text, named);
    case DesignParameter::hbm_bandwidth: return storage_rate_of(text, named);
    case DesignParameter::hbm_size: return stated_size_of(text, named);
    case DesignParameter::arithmetic: return number_from(text, named, 1 / most, most);
    case DesignParameter::nic_count:
    case DesignParameter::domain: return whole_number_from(text, named, 1, static_cast<int>(most));
  }
  return 0;
}

std::vector<std::pair<DesignParameter, double>> take_parameters(std::vector<std::pair<std::string, std::string>>& overrides) {
  constexpr std::string_view prefix = "design.";
  std::vector<std::pair<DesignParameter, double>> out;
  for (const auto& [path, value] : overrides) {
    if (!path.starts_with(prefix)) continue;
    const auto found = parameter_named(std::string_view{path}.substr(prefix.size()));
    if (!found)
      throw Refusal(fmt::format("<overrides> {}: no such parameter; {}", path,
                                near_or_all(std::string_view{path}.substr(prefix.size()), design_parameter_names)));
    std::string_view amount = value;
    while (amount.starts_with(' ')) amount.remove_prefix(1);
    out.emplace_back(*found, parameter_value(*found, std::string{amount}, path));
  }
  std::erase_if(overrides, [&](const auto& one) { return one.first.starts_with(prefix); });
  return out;
}

void turn(System& system, const std::vector<std::pair<DesignParameter, double>>& parameters, OverriddenParts& altered) {
  for (const auto& [parameter, value] : parameters) {
    const bool restated = is_same_as_printed(value, value_of(system, parameter));
    system = with_parameter(std::move(system), parameter, value);
    if (restated) continue;
    (parameter == DesignParameter::nic_bandwidth || parameter == DesignParameter::nic_count ? altered.outside : altered.inside) = true;
    if (parameter == DesignParameter::domain) altered.outside = true;
  }
}

std::vector<DeclaredParameter> read_declared_parameters(const SpecNode& tree, Faults& faults) {
  std::vector<DeclaredParameter> out;
  const SpecNode* const parameters = tree.find("design");
  if (parameters == nullptr) return out;
  if (parameters->kind != SpecNode::Kind::map || parameters->entries.empty() || parameters->entries.size() > max_parameters) {
    faults.add(issue_at(parameters->mark, "design", "is no map of parameters",
                        fmt::format("write 1 to {} as NAME: {{set: {{PATH: \"{{}}\"}}}}", max_parameters)));
    return out;
  }
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'; };
  for (const SpecNode::Entry& entry : parameters->entries) {
    const std::string path = fmt::format("design.{}", entry.key);
    if (entry.key.empty() || !std::all_of(entry.key.begin(), entry.key.end(), is_letter))
      faults.add(issue_at(entry.mark, path, "is no name of a parameter", "names are lower case with digits, dots, dashes and underscores"));
    MapReader in(entry.value, path, faults);
    DeclaredParameter parameter{.name = entry.key, .title = in.text("title"), .unit = in.text("unit"), .values = {}};
    for (const SpecNode* one : in.texts("values")) {
      if (one->text.empty()) in.fault(*one, "values", "is an empty value", "leave it out");
      parameter.values.push_back(one->text);
    }
    if (const SpecNode* const set = in.take("set", true)) check_settings(tree, *set, in, faults, path);
    in.finish();
    out.push_back(std::move(parameter));
  }
  return out;
}

void spell_out_parameters(const SpecNode& tree, std::vector<std::pair<std::string, std::string>>& overrides) {
  constexpr std::string_view prefix = "design.";
  const SpecNode* const parameters = tree.find("design");
  if (parameters == nullptr || parameters->kind != SpecNode::Kind::map) return;
  std::vector<std::pair<std::string, std::string>> out;
  for (auto& [path, value] : overrides) {
    const SpecNode* const parameter = path.starts_with(prefix) ? parameters->find(std::string_view{path}.substr(prefix.size())) : nullptr;
    const SpecNode* const set = parameter != nullptr ? parameter->find("set") : nullptr;
    if (parameter == nullptr) {
      out.emplace_back(path, value);
      continue;
    }
    if (set == nullptr || set->kind != SpecNode::Kind::map) continue;  // reported when the file is read
    std::string_view given = value;
    while (given.starts_with(' ')) given.remove_prefix(1);
    const SpecNode *const unit = parameter->find("unit"), *const values = parameter->find("values");
    const std::optional<double> number = number_of(given, unit != nullptr ? unit->text : "");
    const bool limited = values != nullptr && !values->items.empty();
    const bool allowed = !limited || std::any_of(values->items.begin(), values->items.end(), [&](const SpecNode& one) {
      return one.text == given || (number && number == number_of(one.text, unit != nullptr ? unit->text : ""));
    });
    if (!allowed || (!number && !limited)) {
      std::string all;
      for (std::size_t i = 0; limited && i < values->items.size(); ++i) all += (i > 0 ? " " : "") + values->items[i].text;
      throw Refusal(
          fmt::format("<overrides> {}: {} is no value of this parameter; write {}", path, clipped(std::string{given}),
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

std::vector<DeclaredParameter> declared_parameters(std::string_view name_or_path) {
  SpecStore library;
  Faults faults;
  auto out = read_declared_parameters(library.resolve("systems", name_or_path), faults);
  faults.raise();
  return out;
}

}  // namespace fabricost::core
