/// \file unknown.cpp
/// Names of unknowns, and the values they can take.

#include "answers/need/unknown.hpp"

#include "specs/parts/dials.hpp"
#include "text/units.hpp"

#include <fabricost/fields/fields.hpp>

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

[[noreturn]] void refuse(const std::string& text, const Unknown& unknown, std::string_view why) {
  throw Refusal(
      fmt::format("<over>: \"{}\" {}; write {}", text.substr(0, 60), why,
                  unknown.whole ? "8,16,36,72 or 8:1024:x2 or 8:64:+8" : fmt::format("25,50,100{0} or 25:400:x2{0}", unknown.unit)));
}

/// A number that fills the whole text. \throws Refusal
[[nodiscard]] double number_in(std::string_view part, const std::string& text, const Unknown& unknown) {
  std::string_view rest;
  const double out = io::leading_number(part, rest);
  if (!std::isfinite(out) || !rest.empty()) refuse(text, unknown, fmt::format("has \"{}\" for a number", part.substr(0, 20)));
  if (!(out > 0)) refuse(text, unknown, "has a value that is not above zero");
  if (unknown.whole && (out != std::floor(out) || out > 1e7)) refuse(text, unknown, "has a value that is no whole number up to 10,000,000");
  return out;
}

/// Takes the unit off the end. \return the unit's worth in those of the unknown \throws Refusal
[[nodiscard]] double unit_of(std::string_view& part, const std::string& text, const Unknown& unknown) {
  const std::size_t end = part.find_last_of("0123456789.");
  std::string_view unit = end == std::string_view::npos ? part : part.substr(end + 1);
  part.remove_suffix(unit.size());
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty() || unit == unknown.unit) return 1;
  if (unknown.dial && !unknown.unit.empty() && !unknown.whole)
    return io::dial_value(*unknown.dial, fmt::format("1{}", unit), "<over>") / unknown.worth;
  refuse(text, unknown, fmt::format("has an unknown unit, \"{}\"", unit.substr(0, 20)));
}

void append(std::vector<double>& out, std::string_view part, const std::string& text, const Unknown& unknown) {
  const double worth = unit_of(part, text, unknown);
  const std::size_t colon = part.find(':');
  if (colon == std::string_view::npos) {
    out.push_back(number_in(part, text, unknown) * worth);
    return;
  }
  const std::size_t second = part.find(':', colon + 1);
  if (second == std::string_view::npos || second + 2 >= part.size() || (part[second + 1] != 'x' && part[second + 1] != '+'))
    refuse(text, unknown, "is not FIRST:LAST:xFACTOR or FIRST:LAST:+STEP");
  const double first = number_in(part.substr(0, colon), text, unknown),
               last = number_in(part.substr(colon + 1, second - colon - 1), text, unknown);
  std::string_view rest;
  const double step = io::leading_number(part.substr(second + 2), rest);
  const bool times = part[second + 1] == 'x';
  if (!rest.empty() || !(step > (times ? 1 : 0))) refuse(text, unknown, "never gets to its end");
  if (last < first) refuse(text, unknown, "ends before it starts");
  for (double at = first; at <= last * (1 + 1e-9); at = times ? at * step : at + step) {
    if (out.size() == most_values) refuse(text, unknown, "asks for more than 1,000 values");
    if (unknown.whole && at != std::floor(at)) continue;
    out.push_back(at * worth);
  }
}

void tidy(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

const Unknown& unknown_named(const std::string& text, bool serving) {
  if (text.empty()) throw Refusal("what is asked for? Name it with <unknown>: gpus, nodes, domain, nic.bandwidth, ...", true);
  std::vector<std::string> names;
  for (const Unknown& one : unknowns) {
    if (serving && (one.count == JobCount::batch || one.count == JobCount::sequence)) continue;
    if (one.name == text) return one;
    names.emplace_back(one.name);
  }
  throw Refusal("<unknown>: " + unknown_text(text, "something that can be asked for", names));
}

std::vector<double> values_of(const std::string& text, const Unknown& unknown) {
  std::vector<double> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    append(out, std::string_view{text}.substr(from, end - from), text, unknown);
    from = end + 1;
  }
  tidy(out);
  if (out.empty()) refuse(text, unknown, "has no value");
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
