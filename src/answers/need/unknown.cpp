/// \file unknown.cpp
/// Names of unknowns, and the values they can take.

#include "answers/need/unknown.hpp"

#include "specs/parts/dials.hpp"
#include "text/units.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fabricost::need {
namespace {

constexpr std::size_t most_values = 1000;

constexpr std::array<Unknown, 11> unknowns{{
    {.name = "gpus", .unit = "", .count = JobCount::gpus},
    {.name = "nodes", .unit = "", .count = JobCount::nodes},
    {.name = "batch", .unit = "sequences", .count = JobCount::batch},
    {.name = "sequence", .unit = "tokens", .count = JobCount::sequence},
    {.name = name(Dial::nic_bandwidth), .unit = "GB/s", .dial = Dial::nic_bandwidth, .worth = 1e9, .whole = false},
    {.name = name(Dial::nic_count), .unit = "", .dial = Dial::nic_count},
    {.name = name(Dial::domain), .unit = "GPUs", .dial = Dial::domain},
    {.name = name(Dial::scale_up_bandwidth), .unit = "GB/s", .dial = Dial::scale_up_bandwidth, .worth = 1e9, .whole = false},
    {.name = name(Dial::hbm_bandwidth), .unit = "GB/s", .dial = Dial::hbm_bandwidth, .worth = 1e9, .whole = false},
    {.name = name(Dial::hbm_size), .unit = "GB", .dial = Dial::hbm_size, .worth = 1e9, .whole = false},
    {.name = name(Dial::arithmetic), .unit = "times", .dial = Dial::arithmetic, .whole = false},
}};

/// What is read, for messages.
struct Given {
  const std::string& text;
  const Unknown& unknown;
  std::string_view field;

  [[noreturn]] void refuse(std::string_view why) const {
    throw Refusal(
        fmt::format("<{}>: \"{}\" {}; write {}", field, text.substr(0, 60), why,
                    unknown.whole ? "8,16,36,72 or 8:1024:x2 or 8:64:+8" : fmt::format("25,50,100{0} or 25:400:x2{0}", unknown.unit)));
  }
};

/// A number that fills the whole text. \throws Refusal
[[nodiscard]] double number_in(std::string_view part, const Given& given) {
  std::string_view rest;
  const double out = io::leading_number(part, rest);
  if (!std::isfinite(out) || !rest.empty()) given.refuse(fmt::format("has \"{}\" for a number", part.substr(0, 20)));
  if (!(out > 0)) given.refuse("has a value that is not above zero");
  if (given.unknown.whole && (out != std::floor(out) || out > 1e7))
    given.refuse("has a value that is no whole number up to 10,000,000");
  return out;
}

/// Takes the unit off the end. \return the unit's worth in those of the unknown \throws Refusal
[[nodiscard]] double unit_of(std::string_view& part, const Given& given) {
  const Unknown& unknown = given.unknown;
  const std::size_t end = part.find_last_of("0123456789.");
  std::string_view unit = end == std::string_view::npos ? part : part.substr(end + 1);
  part.remove_suffix(unit.size());
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty() || unit == unknown.unit) return 1;
  if (unknown.dial && !unknown.unit.empty() && !unknown.whole)
    return io::dial_value(*unknown.dial, fmt::format("1{}", unit), fmt::format("<{}>", given.field)) / unknown.worth;
  given.refuse(fmt::format("has an unknown unit, \"{}\"", unit.substr(0, 20)));
}

void append(std::vector<double>& out, std::string_view part, const Given& given) {
  const double worth = unit_of(part, given);
  const std::optional<RangeText> range = range_text(part);
  if (!range || range->by == '?' || (range->by != 0 && range->step.empty())) given.refuse("is not FIRST:LAST:xFACTOR or FIRST:LAST:+STEP");
  if (range->by == 0) return out.push_back(number_in(part, given) * worth);
  const double first = number_in(range->first, given), last = number_in(range->last, given);
  std::string_view rest;
  const double step = io::leading_number(range->step, rest);
  if (!rest.empty() || !(step > (range->times() ? 1 : 0))) given.refuse("never gets to its end");
  if (last < first) given.refuse("ends before it starts");
  for_each_in_range(first, last, range->times(), step, [&](double at) {
    if (out.size() == most_values) given.refuse("asks for more than 1,000 values");
    if (!given.unknown.whole || at == std::floor(at)) out.push_back(at * worth);
  });
}

void tidy(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

const Unknown& unknown_named(const std::string& text, bool serving, std::string_view field, std::span<const std::string_view> others) {
  if (text.empty()) throw Refusal("what is asked for? Name it with <unknown>: gpus, nodes, domain, nic.bandwidth, ...", true);
  std::vector<std::string> names{others.begin(), others.end()};
  for (const Unknown& one : unknowns) {
    if (serving && (one.count == JobCount::batch || one.count == JobCount::sequence)) continue;
    if (one.name == text) return one;
    names.emplace_back(one.name);
  }
  throw Refusal(fmt::format("<{}>: {}", field, unknown_text(text, "something that can be asked for", names)));
}

std::vector<double> values_of(const std::string& text, const Unknown& unknown, std::string_view field) {
  const Given given{text, unknown, field};
  std::vector<double> out;
  for (const std::string_view part : listed(text)) append(out, part, given);
  tidy(out);
  if (out.empty()) given.refuse("has no value");
  return out;
}

std::vector<double> range_of(const Unknown& unknown, const System& system, double most, int each) {
  std::vector<double> out;
  if (!unknown.whole) {
    const double now = value_of(system, *unknown.dial) / unknown.worth;
    for (int quarter = -24; quarter <= 24; ++quarter) out.push_back(now * std::exp2(0.25 * quarter));
    return out;
  }
  for (double at = each; at <= most; at *= 2) {
    out.push_back(at);
    if (at > each && at * 1.5 <= most) out.push_back(at * 1.5);
  }
  if (unknown.dial == Dial::domain)
    for (const double racks : {36, 72, 144, 288, 576})  // trays of four, and of two
      if (racks <= most && std::fmod(racks, each) == 0) out.push_back(racks);
  if (each == 1 && most >= 3) out.push_back(3);
  tidy(out);
  return out;
}

std::string override_of(Dial dial, double value) {
  switch (dial) {
    case Dial::nic_bandwidth:
    case Dial::scale_up_bandwidth:
    case Dial::hbm_bandwidth: return fmt::format("dial.{}={}B/s", name(dial), value);
    case Dial::hbm_size: return fmt::format("dial.{}={:.0f}B", name(dial), value);
    case Dial::nic_count:
    case Dial::domain:
    case Dial::arithmetic: break;
  }
  return fmt::format("dial.{}={}", name(dial), value);
}

double unbounded(const Unknown& unknown, const System& system, double most) {
  constexpr double much = 1e4;
  return unknown.whole ? most : much * value_of(system, *unknown.dial) / unknown.worth;
}

}  // namespace fabricost::need
