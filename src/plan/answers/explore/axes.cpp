/// Reads the axes, and puts their values into machines, questions and jobs.

#include "answers/explore/axes.hpp"

#include <fabricost/error.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::plan::explore {
namespace {

using varied::Kind;

struct Given {
  std::string name, values;
};
[[nodiscard]] Given given_in(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Refusal(fmt::format("<vary>: \"{}\" is not NAME=VALUES, as in domain=8,16,36,72", text.substr(0, 60)));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

[[nodiscard]] std::vector<std::string> machines_in(const std::vector<Given>& all, const Machine& given) {
  std::vector<std::string> out;
  for (const Given& one : all)
    if (one.name == "system")
      for (const std::string_view name : listed(one.values)) out.emplace_back(name);
  if (out.empty() && !given.name.empty()) out.push_back(given.name);
  return out;
}

}  // namespace

std::vector<Axis> axes_of(const std::vector<std::string>& vary, const Machine& given, bool serving,
                          const std::vector<varied::Option>& options) {
  if (vary.empty()) throw Refusal("what is varied? Give <vary>, as in <vary=domain=8,16,36,72>", true);
  std::vector<Given> all;
  for (const std::string& text : vary) all.push_back(given_in(text));
  const varied::Offered offered{
      .serving = serving, .options = options, .declared = varied::declared_by(machines_in(all, given)), .many = true};
  std::vector<Axis> out;
  for (const Given& one : all) {
    Axis axis{{}, varied::named(one.name, offered, "vary")};
    const auto same = [&](const Axis& other) {
      const auto counts_gpus = [](Kind kind) { return kind == Kind::gpus || kind == Kind::nodes; };
      return other.what.name == axis.what.name || (counts_gpus(other.what.kind) && counts_gpus(axis.what.kind));
    };
    if (std::any_of(out.begin(), out.end(), same)) throw Refusal(fmt::format("<vary>: {} is given twice", one.name));
    varied::Values values = varied::values_of(one.values, axis.what, "vary");
    axis.shown = {axis.what.name, axis.what.unit, axis.what.worth, std::move(values.numbers), std::move(values.words)};
    out.push_back(std::move(axis));
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

std::vector<Variant> variants_of(const std::vector<Axis>& axes, const Machine& given) {
  constexpr long long max_variants = 10'000;
  std::vector<Axis> read;
  for (const Axis& axis : axes)
    if (axis.what.read_anew()) read.push_back(axis);
  const auto has = [&](auto holds) {
    return std::find_if(read.begin(), read.end(), [&](const Axis& axis) { return holds(axis.what.kind); });
  };
  const bool varied = has([](Kind kind) { return kind == Kind::system; }) != read.end();
  if (varied && given) throw Refusal("<system> is varied; leave it out");
  if (!varied && !given) throw Refusal("on which machine? Name it with <system> (fabricost machine lists them)", true);
  const auto of_file = has([](Kind kind) { return kind != Kind::option; });
  if (!varied && of_file != read.end() && given.name.empty())
    throw Refusal(fmt::format("<vary>: {} needs a machine by name, this one is made already", of_file->shown.name));
  const long long count = points_of(read);
  if (count > max_variants)
    throw Refusal(fmt::format("<vary>: {} machines and questions to read are more than {}; take larger steps", count, max_variants));
  std::vector<Variant> out;
  for (long long i = 0; i < count; ++i) {
    const std::vector<std::size_t> places = places_of(read, i);
    Variant one{.machine = given, .overrides = {}, .asked = given.name, .options = {}};
    for (std::size_t j = 0; j < read.size(); ++j) {
      const varied::Varied& what = read[j].what;
      const std::string value = read[j].written(places[j]);
      if (what.kind == Kind::system) {
        one.machine = value;
      } else if (what.kind == Kind::option) {
        one.options.emplace_back(what.name, value);
        continue;
      } else {
        one.machine.value = nullptr;  // read again with the override
        one.overrides.push_back(varied::override_of(what, value));
      }
      if (what.kind == Kind::system || what.kind == Kind::gpu) one.asked = value;
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::size_t variant_of(const std::vector<Axis>& axes, const std::vector<std::size_t>& places) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].what.read_anew()) out = out * axes[i].shown.size() + places[i];
  return out;
}

System machine_at(const std::vector<Axis>& axes, const std::vector<std::size_t>& places, const System& whole, Job& job) {
  System out = whole;
  const auto turn_where = [&](bool domain) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const varied::Varied& what = axes[i].what;
      if (!what.parameter || (*what.parameter == DesignParameter::domain) != domain) continue;
      out = with_parameter(std::move(out), *what.parameter, axes[i].shown.values[places[i]] * what.worth);
    }
  };
  turn_where(true);
  turn_where(false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto count = [&] { return static_cast<int>(axes[i].shown.values[places[i]]); };
    switch (axes[i].what.kind) {
      case Kind::gpus: job.gpus = count(); break;
      case Kind::nodes: job.nodes = count(); break;
      case Kind::batch: job.batch = count(); break;
      case Kind::sequence: job.sequence = count(); break;
      case Kind::isl: job.isl = count(); break;
      case Kind::osl: job.osl = count(); break;
      default: break;
    }
  }
  return out;
}

}  // namespace fabricost::plan::explore
