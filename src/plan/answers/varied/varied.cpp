/// The names of unknowns, and the values they can take.

#include "answers/varied/varied.hpp"

#include "specs/parts/design_parameters.hpp"
#include "text/amounts.hpp"
#include "text/joined.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fabricost::plan::varied {
namespace {

constexpr std::size_t most_values = 1000;
constexpr std::string_view tokens = "tokens";

struct Known {
  std::string_view name, unit;
  Kind kind;
  std::optional<DesignParameter> parameter{};
  double worth = 1;
  bool whole = true;
};
constexpr Known of_machine(DesignParameter parameter, std::string_view unit, double worth = 1, bool whole = false) {
  return {.name = name(parameter), .unit = unit, .kind = Kind::parameter, .parameter = parameter, .worth = worth, .whole = whole};
}
constexpr std::array<Known, 11> known{{
    {.name = "gpus", .unit = "", .kind = Kind::gpus},
    {.name = "nodes", .unit = "", .kind = Kind::nodes},
    {.name = "batch", .unit = "sequences", .kind = Kind::batch},
    {.name = "sequence", .unit = tokens, .kind = Kind::sequence},
    of_machine(DesignParameter::nic_bandwidth, "GB/s", 1e9),
    of_machine(DesignParameter::nic_count, "", 1, true),
    of_machine(DesignParameter::domain, "GPUs", 1, true),
    of_machine(DesignParameter::scale_up_bandwidth, "GB/s", 1e9),
    of_machine(DesignParameter::hbm_bandwidth, "GB/s", 1e9),
    of_machine(DesignParameter::hbm_size, "GB", 1e9),
    of_machine(DesignParameter::arithmetic, "times"),
}};
constexpr std::array<Known, 4> of_many{{{.name = "system", .unit = "", .kind = Kind::system},
                                        {.name = "gpu", .unit = "", .kind = Kind::gpu},
                                        {.name = "isl", .unit = tokens, .kind = Kind::isl},
                                        {.name = "osl", .unit = tokens, .kind = Kind::osl}}};

[[nodiscard]] bool offers(const Known& one, const Offered& offered) {
  switch (one.kind) {
    case Kind::isl:
    case Kind::osl: return offered.serving && offered.many;
    case Kind::sequence: return !offered.serving;
    case Kind::batch: return !offered.serving || offered.many;  // of an engine
    default: return true;
  }
}

/// A name without what joins its words.
[[nodiscard]] std::string letters_of(std::string name) {
  std::erase_if(name, [](char c) { return c == '.' || c == '_' || c == '-'; });
  return name;
}

[[nodiscard]] Varied varied_as(const Known& one) {
  return {.name = std::string{one.name},
          .unit = std::string{one.unit},
          .kind = one.kind,
          .parameter = one.parameter,
          .worth = one.worth,
          .whole = one.whole,
          .words = one.kind == Kind::system || one.kind == Kind::gpu};
}

/// The text that is read, for messages.
struct Given {
  const std::string& text;
  Varied& varied;
  std::string_view field;

  [[noreturn]] void refuse(std::string_view why) const {
    const std::string unit = varied.unit + (varied.of_link() ? " per direction" : "");
    throw Refusal(fmt::format("<{}>: \"{}\" {}; write {}", field, text.substr(0, 60), why,
                              varied.whole ? "8,16,36,72 or 8:1024:x2 or 8:64:+8" : fmt::format("\"25,50,100{0}\" or \"25:400:x2{0}\"", unit)));
  }
};

/// The number that a text begins with; of tokens with its k or M.
[[nodiscard]] double number_before(std::string_view& rest, std::string_view part, const Varied& varied) {
  const double out = leading_number(part, rest);
  const double worth = varied.unit == tokens ? length_unit(rest) : 0;
  if (worth > 0) rest = {};
  return worth > 0 ? out * worth : out;
}

/// A number that fills the whole text. \throws Refusal
[[nodiscard]] double number_in(std::string_view part, const Given& given) {
  std::string_view rest;
  const Varied& varied = given.varied;
  const double out = number_before(rest, part, varied);
  if (!std::isfinite(out) || !rest.empty()) given.refuse(fmt::format("has \"{}\" for a number", part.substr(0, 20)));
  if (out < 0 || (out == 0 && !(varied.kind == Kind::path || (varied.kind == Kind::option && varied.range.holds(0)))))
    given.refuse("has a value that is not above zero");
  if (varied.whole && (out != std::floor(out) || out > 1e7)) given.refuse("has a value that is no whole number up to 10,000,000");
  return out;
}

/// Takes the unit off the end; empty: it has none.
[[nodiscard]] std::string_view take_unit(std::string_view& part, const Varied& varied) {
  const std::size_t end = part.find_last_of("0123456789.");
  std::string_view unit = end == std::string_view::npos ? part : part.substr(end + 1);
  if (varied.unit == tokens && length_unit(unit) > 0) return {};  // it belongs to the number in front
  part.remove_suffix(unit.size());
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  while (unit.ends_with(' ')) unit.remove_suffix(1);
  return unit;
}

/// What one of a unit is in SI: 1e-6 of us, 1e9 of GB/s; 1 of what is no time, rate or size.
[[nodiscard]] double in_si(std::string_view unit) {
  const std::string one = fmt::format("1 {}", unit);
  for (const auto read : {&duration_of, &link_rate_of, &storage_rate_of}) {
    try {
      return read(one, unit);
    } catch (const RequestError&) {
      continue;  // a unit of something else
    }
  }
  try {
    return unit.empty() ? 1 : size_of(one, unit).value();
  } catch (const RequestError&) {
    return 1;
  }
}

/// The unit over that of the unknown, which takes it where it has none yet. \throws Refusal
[[nodiscard]] double worth_of(std::string_view unit, const Given& given) {
  Varied& varied = given.varied;
  if (varied.is_quantity()) {
    if (unit.empty()) given.refuse("has no unit at its end");
    if (varied.of_link() && unit.ends_with("/s")) given.refuse("does not say which direction");
    try {
      return parameter_value(*varied.parameter, fmt::format("1 {}", unit), "") / varied.worth;
    } catch (const RequestError&) {
      given.refuse(fmt::format("has the unit \"{}\", which is none of {}", unit, varied.name));
    }
  }
  if (unit.empty() || unit == varied.unit) return 1;
  if (varied.any_unit() && varied.unit.empty() && !varied.whole) {
    varied.unit = unit;
    if (varied.kind != Kind::declared) varied.worth = in_si(unit);
    return 1;
  }
  if (varied.any_unit() && !varied.unit.empty()) given.refuse(fmt::format("has two units, {} and {}", varied.unit, unit.substr(0, 20)));
  given.refuse(fmt::format("has an unknown unit, \"{}\"", unit.substr(0, 20)));
}

void append(std::vector<double>& out, std::string_view part, std::string_view unit, const Given& given) {
  const std::optional<RangeText> range = range_text(part);
  if (!range || range->by == '?' || (range->by != 0 && range->step.empty())) given.refuse("is not FIRST:LAST:xFACTOR or FIRST:LAST:+STEP");
  const double worth = worth_of(unit, given);
  if (range->by == 0) return out.push_back(number_in(part, given) * worth);
  const double first = number_in(range->first, given), last = number_in(range->last, given);
  std::string_view rest;
  const double step = number_before(rest, range->step, given.varied);
  if (!rest.empty() || !(step > (range->times() ? 1 : 0)) || (range->times() && first == 0)) given.refuse("never gets to its end");
  if (last < first) given.refuse("ends before it starts");
  for_each_in_range(first, last, range->times(), step, [&](double at) {
    if (out.size() == most_values) given.refuse("asks for more than 1,000 values");
    if (!given.varied.whole || at == std::floor(at)) out.push_back(at * worth);
  });
}

/// Whether every part is a number, with a unit or without.
[[nodiscard]] bool numeric(const std::string& text) {
  const std::vector<std::string_view> parts = listed(text);
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    std::string_view rest;
    return std::isfinite(leading_number(part, rest)) && rest.find_first_of("-_") == std::string_view::npos;
  });
}

}  // namespace

std::optional<double> standing(const System& system, DesignParameter parameter) {
  try {
    return value_of(system, parameter);
  } catch (const RequestError&) {
    return std::nullopt;
  }
}

std::vector<DeclaredParameter> declared_by(const std::vector<std::string>& machines) {
  std::vector<DeclaredParameter> out;
  for (std::string name : machines) {
    while (const auto saved = read_saved_system(name)) name = saved->extends;
    for (DeclaredParameter& parameter : declared_parameters(name))
      if (std::none_of(out.begin(), out.end(), [&](const DeclaredParameter& one) { return one.name == parameter.name; }))
        out.push_back(std::move(parameter));
  }
  return out;
}

Varied named(const std::string& text, const Offered& offered, std::string_view field) {
  if (text.empty())
    throw Refusal(fmt::format("what is asked for? Name it with <{}>: gpus, nodes, domain, nic.bandwidth, ...", field), true);
  for (const DeclaredParameter& parameter : offered.declared)
    if (same_unknown(parameter.name, text))
      return {.name = parameter.name, .unit = parameter.unit, .kind = Kind::declared, .whole = false, .values = parameter.values};
  std::vector<std::string> names;
  for (const DeclaredParameter& parameter : offered.declared) names.push_back(parameter.name);
  const auto look = [&](const auto& table) -> std::optional<Varied> {
    for (const Known& one : table) {
      if (!offers(one, offered)) continue;
      if (same_unknown(one.name, text)) return varied_as(one);
      names.emplace_back(one.name);
    }
    return std::nullopt;
  };
  if (offered.many)
    if (auto out = look(of_many)) return *out;
  if (auto out = look(known)) return *out;
  std::string option = text;
  std::replace(option.begin(), option.end(), '-', '_');
  for (const Option& one : offered.options) {
    const bool same = one.name == option || one.typed.substr(0, one.typed.find(',')) == text;
    if (same && (one.number || offered.many))
      return {.name = std::string{one.name}, .kind = Kind::option, .whole = one.whole, .words = !one.number, .range = one.range};
    if (one.number || offered.many) names.emplace_back(one.name);
  }
  if (offered.serving && letters_of(text) == "requestrate")
    throw Refusal(fmt::format("<{}>: the highest rate is not asked for: plan serve with a low <request_rate> prints it as \"up to\"", field));
  // "nic.bandwith" is a parameter with a slip of the pen; "nic.latency" a path into the machine's file, which is read with it
  if (text.find('.') != std::string::npos && near_names(text, names).empty()) return {.name = text, .kind = Kind::path, .whole = false};
  if (!near_names(text, names).empty()) throw Refusal(fmt::format("<{}>: {}", field, unknown_text(text, "something that can be asked for", names)));
  const std::string_view parts = "domain, nic.bandwidth, nic.count, scale_up.bandwidth, hbm.bandwidth, hbm.size, arithmetic";
  std::vector<std::string> alike;  // scaleup: scale_up.bandwidth
  for (const std::string& one : names)
    if (const std::string word = letters_of(text); word.size() > 2 && letters_of(one).find(word) != std::string::npos) alike.push_back(one);
  throw Refusal(fmt::format("<{}>: \"{}\" is not something that can be asked for; {}", field, text.substr(0, 60),
                            alike.empty() ? fmt::format("of a machine: {}; of the job: gpus, nodes, batch{}, and the options of plan {} by name", parts,
                                                        offered.serving ? "" : ", sequence", offered.serving ? "serve" : "train")
                                          : fmt::format("did you mean {}?", joined(alike, " or "))));
}

Values values_of(const std::string& text, Varied& varied, std::string_view field) {
  Values out;
  const bool either = varied.kind == Kind::path || varied.kind == Kind::declared;  // numbers, or names of links and the like
  if (varied.words || (either && !numeric(text))) {
    varied.words = true;
    for (const std::string_view one : listed(text)) {
      if (one.empty()) throw Refusal(fmt::format("<{}>: {}={} misses a name", field, varied.name, text.substr(0, 60)));
      out.words.emplace_back(one);
    }
    return out;
  }
  const Given given{text, varied, field};
  const std::vector<std::string_view> parts = listed(text);
  std::string_view unit;  // a value takes the unit behind it: 25,50,100 GB
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    std::string_view value = *part;
    if (const std::string_view own = take_unit(value, varied); !own.empty() || !varied.is_quantity()) unit = own;
    append(out.numbers, value, unit, given);
  }
  std::sort(out.numbers.begin(), out.numbers.end());
  out.numbers.erase(std::unique(out.numbers.begin(), out.numbers.end()), out.numbers.end());
  if (out.numbers.empty()) given.refuse("has no value");
  return out;
}

std::string written(const Varied& varied, double value) {
  return fmt::format("{:.12g}{}", value, varied.any_unit() && varied.kind != Kind::declared ? varied.unit : "");
}

std::string override_of(const Varied& varied, const std::string& value) {
  return fmt::format("{}{}={}", varied.kind == Kind::declared ? "design." : "", varied.name, value);
}

std::string override_of(const Varied& varied, double value) {
  if (!varied.parameter) return override_of(varied, written(varied, value));
  const double amount = value * varied.worth;
  switch (*varied.parameter) {
    case DesignParameter::nic_bandwidth:
    case DesignParameter::scale_up_bandwidth: return fmt::format("design.{}={}B/s per direction", varied.name, amount);
    case DesignParameter::hbm_bandwidth: return fmt::format("design.{}={}B/s", varied.name, amount);
    case DesignParameter::hbm_size: return fmt::format("design.{}={:.0f}B", varied.name, amount);
    case DesignParameter::nic_count:
    case DesignParameter::domain:
    case DesignParameter::arithmetic: break;
  }
  return fmt::format("design.{}={}", varied.name, amount);
}

std::span<const std::string_view> options_of_one_plan() {
  static constexpr std::string_view all[]{"--measured-step", "--top,-k",         "--sensitivity",       "--pareto",       "--explain",        "--sites",
                                          "--site-rate",      "--site-distance",     "--sync-every",   "--sync-fragments", "--sync-overlap",
                                          "--sync-precision", "--site-availability", "--sync-penalty", "--network-share"};
  return all;
}

std::vector<Option> options_of(std::span<const Field> fields) {
  // those varied by names of their own
  static constexpr std::array<std::string_view, 9> others{"system", "gpus",        "global_batch", "sequence", "isl",
                                                          "osl",    "calibration", "unknown",      "over"};
  const auto among = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<Option> out;
  for (const Field& field : fields) {
    if (field.name.empty() || field.type->kind == ValueKind::list || among(others, field.name) ||
        among(options_of_one_plan(), field.option))
      continue;
    const ValueKind kind = field.type->bare().kind;
    out.push_back({.name = field.name,
                   .typed = field.option.substr(std::min<std::size_t>(2, field.option.size())),
                   .number = kind == ValueKind::whole || kind == ValueKind::number,
                   .whole = kind == ValueKind::whole,
                   .range = field.range});
  }
  return out;
}

void put_option(std::span<const Field> fields, void* request, std::string_view name, const std::string& value, std::string_view named) {
  for (const Field& field : fields) {
    if (field.name != name || field.type->kind == ValueKind::list) continue;
    try {
      parse_value(*field.type, value, name, field.amount, field.range, field.in(request));
    } catch (const RequestError& error) {
      throw Refusal(fmt::format("<{}>: {}", named, error.what()));
    }
  }
}

}  // namespace fabricost::plan::varied
