/// \file constants.cpp
/// Lists the rows of the parameter tables with a machine's values.

#include <fabricost/answers/constants.hpp>
#include <fabricost/hardware/parameters.hpp>

namespace fabricost::core {
namespace {

constexpr std::array<std::string_view, 8> kind_names{"seconds", "link_share", "bytes", "share", "part", "number", "divisor", "order"};
constexpr std::array<std::string_view, 4> fit_names{"own", "shared", "held", "form"};

/// The origin of a set's values: file, basis, source.
[[nodiscard]] ListedSet set_of(ConstantSet set, const Constants& c) {
  switch (set) {
    case ConstantSet::scale_up:
    case ConstantSet::pcie: return {"", c.name, name(c.basis), c.source};
    case ConstantSet::transport: return {"", c.transport_name, name(c.transport_basis), c.transport_source};
    case ConstantSet::compute: return {"", c.compute_name, name(c.compute_basis), c.compute_source};
    case ConstantSet::custom: return {"", c.custom_name, name(c.custom_basis), c.custom_source};
    case ConstantSet::moe: return {"", c.moe_name, name(c.moe_basis), c.moe_source};
  }
  return {};
}

}  // namespace

ConstantsAnswer answer(const ConstantsRequest& request) {
  const std::shared_ptr<const System> system = request.system ? request.system.get({}, {}, request.calibration) : nullptr;
  if (system == nullptr && !request.calibration.empty()) throw Refusal("<calibration> needs a machine: add <system>");
  const Constants none;
  const Constants& values = system != nullptr ? system->constants : none;
  const bool over_pcie = system != nullptr && is_over_pcie(*system);  // links of a domain are of one kind: the other set is at its prior
  ConstantsAnswer out{.system = system != nullptr ? system->name : ""};
  for (std::size_t s = 0; s < constant_set_names.size(); ++s) {
    const auto set = static_cast<ConstantSet>(s);
    if (request.only && *request.only != set) continue;
    const bool unused = set == (over_pcie ? ConstantSet::scale_up : ConstantSet::pcie);
    ListedSet listed = unused ? ListedSet{"", "prior", name(Basis::datasheet), std::string{prior_source(set)}} : set_of(set, values);
    listed.name = constant_set_names[s];
    for (const Parameter& p : parameters_of(set)) {
      const auto fit = static_cast<std::size_t>(p.fitted);
      ++*std::array{&listed.own, &listed.shared, &listed.held, &listed.form}[fit];
      out.constants.push_back({.set = listed.name,
                               .name = std::string{p.key},
                               .kind = std::string{kind_names[static_cast<std::size_t>(p.kind)]},
                               .fit = std::string{fit_names[fit]},
                               .value = p.value(values),
                               .prior = p.prior,
                               .min = p.min,
                               .max = p.max,
                               .spread = p.spread});
    }
    out.sets.push_back(std::move(listed));
  }
  return out;
}

}  // namespace fabricost::core
