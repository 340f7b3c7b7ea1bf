/// \file axes.cpp
/// Reads what is varied, and puts its values into machines and jobs.

#include "answers/explore/axes.hpp"

#include <fabricost/refusal.hpp>
#include <fabricost/specs/declared_dials.hpp>
#include <fabricost/specs/saved_system.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::explore {
namespace {

constexpr need::Unknown prompt{.name = "isl", .unit = "tokens"}, answered{.name = "osl", .unit = "tokens"};

[[nodiscard]] std::vector<std::string> words_in(const std::string& text, std::string_view name) {
  std::vector<std::string> out;
  for (const std::string_view one : listed(text)) {
    if (one.empty()) throw Refusal(fmt::format("<vary>: {}={} misses a name", name, text.substr(0, 60)));
    out.emplace_back(one);
  }
  return out;
}

/// A dial that a file declares: numbers and ranges of them, or the words it takes.
[[nodiscard]] Axis declared_axis(const DeclaredDial& dial, const std::string& values) {
  Axis out;
  out.shown.name = dial.name, out.shown.unit = dial.unit;
  out.declared = true;
  const bool numbers =
      values.find_first_not_of("0123456789.,:x+* ") == std::string::npos || (!dial.unit.empty() && values.ends_with(dial.unit));
  if (numbers)
    out.shown.values = need::values_of(values, {.name = dial.name, .unit = dial.unit, .whole = false}, "vary");
  else
    out.shown.words = words_in(values, dial.name);
  return out;
}

[[nodiscard]] Axis axis_of(const std::string& name, const std::string& values, const std::vector<DeclaredDial>& declared, bool serving) {
  for (const DeclaredDial& dial : declared)
    if (dial.name == name) return declared_axis(dial, values);
  Axis out;
  out.shown.name = name;
  if (name == "system" || name == "gpu") {
    (name == "gpu" ? out.gpu : out.machine) = true;
    out.shown.words = words_in(values, name);
    return out;
  }
  if (serving && (name == "isl" || name == "osl")) out.length = name == "isl" ? Length::isl : Length::osl;
  std::vector<std::string_view> others{"system", "gpu"};
  if (serving) others.insert(others.end(), {"batch", "isl", "osl"});
  for (const DeclaredDial& dial : declared) others.push_back(dial.name);
  if (out.length)
    out.number = *out.length == Length::isl ? prompt : answered;
  else
    out.number = need::unknown_named(name, serving && name != "batch", "vary", others);
  out.shown.unit = std::string{out.number->unit};
  out.shown.values = need::values_of(values, *out.number, "vary");
  return out;
}

struct Given {
  std::string name, values;
};
[[nodiscard]] Given given_in(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Refusal(fmt::format("<vary>: \"{}\" is not NAME=VALUES, as in domain=8,16,36,72", text.substr(0, 60)));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// What the files of the machines declare, those of a saved one by what it extends.
[[nodiscard]] std::vector<DeclaredDial> declared_of(const std::vector<Given>& all, const Machine& given) {
  std::vector<std::string> names;
  for (const Given& one : all)
    if (one.name == "system") names = words_in(one.values, one.name);
  if (names.empty() && !given.name.empty()) names.push_back(given.name);
  std::vector<DeclaredDial> out;
  for (std::string name : names) {
    while (const auto saved = read_saved_system(name)) name = saved->extends;
    for (DeclaredDial& dial : declared_dials(name))
      if (std::none_of(out.begin(), out.end(), [&](const DeclaredDial& known) { return known.name == dial.name; }))
        out.push_back(std::move(dial));
  }
  return out;
}

}  // namespace

std::vector<Axis> axes_of(const std::vector<std::string>& vary, const Machine& given, bool serving) {
  if (vary.empty()) throw Refusal("what is varied? Say it with <vary>, as in <vary=nic.bandwidth=25:400:x2GB/s>", true);
  std::vector<Given> all;
  for (const std::string& text : vary) all.push_back(given_in(text));
  const std::vector<DeclaredDial> declared = declared_of(all, given);
  std::vector<Axis> out;
  for (const Given& one : all) {
    const auto same = [&](const Axis& other) {
      const std::string& name = other.shown.name;
      return name == one.name || (name == "gpus" && one.name == "nodes") || (name == "nodes" && one.name == "gpus");
    };
    if (std::any_of(out.begin(), out.end(), same)) throw Refusal(fmt::format("<vary>: {} is given twice", one.name));
    out.push_back(axis_of(one.name, one.values, declared, serving));
  }
  return out;
}

long long points_of(const std::vector<Axis>& axes) {
  constexpr long long most = 1'000'000'000;
  long long out = 1;
  for (const Axis& axis : axes) {
    out *= static_cast<long long>(axis.shown.size());
    if (out > most) throw Refusal("<vary>: more than 10^9 combinations; take larger steps");
  }
  return out;
}

std::vector<std::size_t> places_of(const std::vector<Axis>& axes, long long number) {
  std::vector<std::size_t> out(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto size = static_cast<long long>(axes[i].shown.size());
    out[i] = static_cast<std::size_t>(number % size);
    number /= size;
  }
  return out;
}

Machines::Machines(const std::vector<Axis>& axes, const Machine& given, const std::vector<std::string>& overrides,
                   const std::string& calibration, KernelSets kernels, const std::optional<Inference>& library) {
  constexpr long long most_machines = 10'000;
  std::vector<Axis> read;
  for (const Axis& axis : axes)
    if (axis.read()) read.push_back(axis);
  const bool varied = std::any_of(read.begin(), read.end(), [](const Axis& axis) { return axis.machine; });
  if (varied && given) throw Refusal("<system> is varied; leave it out");
  if (!varied && !given) throw Refusal("on which machine? Name it with <system> (fabricost systems lists them)", true);
  if (!varied && !read.empty() && given.name.empty())
    throw Refusal(fmt::format("<vary>: {} needs a machine by name, this one is made already", read.front().shown.name));
  const long long count = points_of(read);
  if (count > most_machines)
    throw Refusal(fmt::format("<vary>: {} machines to read are more than {}; take larger steps", count, most_machines));
  for (long long i = 0; i < count; ++i) {
    const std::vector<std::size_t> places = places_of(read, i);
    Machine machine = given;
    std::vector<std::string> all = overrides;
    std::string asked = given.name;
    for (std::size_t j = 0; j < read.size(); ++j) {
      const ExploreAxis& axis = read[j].shown;
      const std::string value = axis.words.empty() ? fmt::format("{:.12g}", axis.values[places[j]]) : axis.words[places[j]];
      if (read[j].machine) {
        machine = {value, nullptr};
      } else {
        machine.value = nullptr;  // read again with the override
        all.push_back(fmt::format("{}{}={}", read[j].gpu ? "" : "dial.", axis.name, value));
      }
      if (!read[j].declared) asked = value;
    }
    all_.push_back({with_library(machine.get(all, kernels, calibration), library), asked});
  }
}

std::size_t machine_of(const std::vector<Axis>& axes, const std::vector<std::size_t>& places) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].read()) out = out * axes[i].shown.size() + places[i];
  return out;
}

System machine_at(const std::vector<Axis>& axes, const std::vector<std::size_t>& places, const System& whole, Job& job) {
  System out = whole;
  const auto turn_where = [&](bool domain) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Axis& axis = axes[i];
      if (!axis.number || !axis.number->dial || (*axis.number->dial == Dial::domain) != domain) continue;
      out = turned(std::move(out), *axis.number->dial, axis.shown.values[places[i]] * axis.number->worth);
    }
  };
  turn_where(true);
  turn_where(false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    if (!axis.number || axis.number->dial) continue;
    const int count = static_cast<int>(axis.shown.values[places[i]]);
    if (axis.length) {
      (*axis.length == Length::isl ? job.isl : job.osl) = count;
      continue;
    }
    switch (*axis.number->count) {
      case need::JobCount::gpus: job.gpus = count; break;
      case need::JobCount::nodes: job.nodes = count; break;
      case need::JobCount::batch: job.batch = count; break;
      case need::JobCount::sequence: job.sequence = count; break;
    }
  }
  return out;
}

}  // namespace fabricost::explore
