/// Lists the rows of the parameter tables with a machine's values.

#include <fabricost/answers/constants.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/parameters.hpp>

namespace fabricost::core {

RequestTable<ConstantsRequest> ConstantsRequest::fields() {
  using R = ConstantsRequest;
  return {asks(&R::system, "system", "--system,-s", "NAME", "The machine; without it the values without measurements", true),
          asks(&R::only, "only", "--only", "SET", "One set: scale_up, pcie, transport, compute, custom or moe"), field::ask_calibration<R>};
}

AnswerTable<ListedConstant> ListedConstant::fields() {
  using A = ListedConstant;
  return {gives(&A::set, "set", "set", "scale_up, pcie, transport, compute, custom or moe."),
          gives(&A::name, "name", "name", "As in a calibration file, `ll.hop`."),
          gives(&A::kind, "kind", "kind", "seconds, bytes, link_share (of the one-way rate), or a plain number."),
          gives(&A::fit, "fit", "fit",
                "In a fit of several machines: own (one for each), shared (one for all), held (not fitted), form (a "
                "number of the form itself, not fitted)."),
          gives(&A::value, "value", "value", "On this machine, in seconds, bytes or as the number it is."),
          gives(&A::prior, "prior", "prior", "Where nothing was measured."),
          gives(&A::min, "min", "min", "Least value a fit may find."),
          gives(&A::max, "max", "max", "Greatest."),
          gives(&A::spread, "spread", "spread", "How far machines differ in it: a standard deviation in log.")};
}

AnswerTable<ListedSet> ListedSet::fields() {
  using A = ListedSet;
  return {gives(&A::name, "name", "name", "scale_up, pcie, transport, compute, custom or moe."),
          gives(&A::calibration, "calibration", "calibration", "The file, or `prior`."),
          gives(&A::basis, "basis", "basis", "calibrated, sibling or datasheet."),
          gives(&A::source, "source", "source", "What the values rest on."),
          gives(&A::own, "own", "own", "Constants that a joint fit finds for each machine."),
          gives(&A::shared, "shared", "shared", "Those it finds once for all."),
          gives(&A::held, "held", "held", "Those it leaves."),
          gives(&A::form, "form", "form", "Numbers of the forms.")};
}

AnswerTable<ConstantsAnswer> ConstantsAnswer::fields() {
  using A = ConstantsAnswer;
  return {gives(&A::system, "system", "system", "The machine; empty: none."), gives(&A::sets, "sets", "sets", "A ListedSet each."),
          gives(&A::constants, "constants", "constants", "A ListedConstant each, by set.")};
}

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
