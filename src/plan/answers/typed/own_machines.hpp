#pragma once
/// Prices and days that a request gives for single machines, by their names in the request or their own. Private.

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/economics/days.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// \throws Refusal where two names of the catalogue are those of one machine
inline void refuse_twice(const std::vector<Machine>& machines, const std::vector<System>& systems) {
  const auto catalogued = [&](std::size_t i) { return !machines[i].value && machines[i].name.find_first_of("./") == std::string::npos; };
  for (std::size_t i = 0; i < systems.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (catalogued(i) && catalogued(j) && systems[i].name == systems[j].name)
        throw Refusal(machines[i].name == machines[j].name
                          ? fmt::format("{} is given twice; name another machine", machines[i].name)
                          : fmt::format("{} and {} are one machine; name another", machines[j].name, machines[i].name));
}

/// Which of the machines a name means. \param machines as requested \param systems the same, loaded \throws Refusal naming the field and
/// all machines where it means none
[[nodiscard]] inline std::vector<std::size_t> machines_named(const std::string& name, const std::vector<Machine>& machines,
                                                             const std::vector<System>& systems, std::string_view field) {
  std::vector<std::size_t> out;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < systems.size(); ++i) {
    names.push_back(systems[i].name);
    if (name == systems[i].name || name == machines[i].name || name == systems[i].gpu.name) out.push_back(i);
  }
  if (out.empty() && !near_names(name, names).empty()) {  // another name of the catalogue's
    try {
      const std::string own = load_system(name, {}, "none", KernelSets::none()).name;
      for (std::size_t i = 0; i < systems.size(); ++i)
        if (own == systems[i].name) out.push_back(i);
    } catch (const RequestError&) {
      static_cast<void>(name);  // it is of none
    }
  }
  if (out.empty()) throw Refusal(fmt::format("<{}>: {}", field, unknown_text(name, "one of the machines", names)));
  return out;
}

/// The user's own prices by machine. \throws Refusal as machines_named
[[nodiscard]] inline OwnMachinePrices own_prices_of(const std::vector<OwnPrice>& given, std::optional<PriceKind> kind,
                                                    const std::vector<Machine>& machines, const std::vector<System>& systems,
                                                    std::string_view field) {
  OwnMachinePrices out;
  out.kind = kind;
  out.gpu_hours.assign(systems.size(), 0);
  for (const OwnPrice& own : given) {
    if (own.machine.empty())
      throw Refusal(fmt::format("<{}>: of which machine is {:g} USD for a GPU-hour? Write {}={:g}", field, own.dollars_per_gpu_hour,
                                systems.front().name, own.dollars_per_gpu_hour));
    for (const std::size_t i : machines_named(own.machine, machines, systems, field)) out.gpu_hours[i] = own.dollars_per_gpu_hour;
  }
  return out;
}

/// The day that a field names. \throws Refusal
[[nodiscard]] inline Day day_of(const std::string& text, std::string_view field) {
  if (const auto out = parse_day(text)) return *out;
  throw Refusal(fmt::format("<{}>: \"{}\" is no day; write 2027-03-31, 2027-03 or 2027-Q1", field, text.substr(0, 40)));
}

}  // namespace fabricost::plan
