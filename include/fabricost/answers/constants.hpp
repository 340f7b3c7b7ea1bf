#pragma once
/// \file constants.hpp
/// The constants of the model, one by one: the value of each on a machine, its value where nothing was
/// measured, and its treatment in a fit.

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

struct ConstantsRequest {
  Machine system;  ///< none: the values without measurements
  std::optional<ConstantSet> only;
  std::string calibration;

  static constexpr auto fields() {
    using R = ConstantsRequest;
    return Table{asks(&R::system, "system", "--system,-s", "NAME", "The machine; without it the values without measurements", true),
                 asks(&R::only, "only", "--only", "SET", "One set: scale_up, pcie, transport, compute, custom or moe"),
                 field::ask_calibration<R>};
  }
};

struct ListedConstant {
  std::string set, name, kind, fit;
  double value = 0, prior = 0, min = 0, max = 0, spread = 0;
  bool operator==(const ListedConstant&) const = default;

  static constexpr auto fields() {
    using A = ListedConstant;
    return Table{gives(&A::set, "set", "set", "scale_up, pcie, transport, compute, custom or moe."),
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
};

/// A set of constants and where its values are from.
struct ListedSet {
  std::string name, calibration, basis, source;
  int own = 0, shared = 0, held = 0, form = 0;
  bool operator==(const ListedSet&) const = default;

  static constexpr auto fields() {
    using A = ListedSet;
    return Table{gives(&A::name, "name", "name", "scale_up, pcie, transport, compute, custom or moe."),
                 gives(&A::calibration, "calibration", "calibration", "The file, or `prior`."),
                 gives(&A::basis, "basis", "basis", "calibrated, sibling or datasheet."),
                 gives(&A::source, "source", "source", "What the values rest on."),
                 gives(&A::own, "own", "own", "Constants that a joint fit finds for each machine."),
                 gives(&A::shared, "shared", "shared", "Those it finds once for all."),
                 gives(&A::held, "held", "held", "Those it leaves."),
                 gives(&A::form, "form", "form", "Numbers of the forms.")};
  }
};

struct ConstantsAnswer {
  std::string system;
  std::vector<ListedSet> sets{};
  std::vector<ListedConstant> constants{};

  static constexpr auto fields() {
    using A = ConstantsAnswer;
    return Table{gives(&A::system, "system", "system", "The machine; empty: none."), gives(&A::sets, "sets", "sets", "A ListedSet each."),
                 gives(&A::constants, "constants", "constants", "A ListedConstant each, by set.")};
  }
};

/// \throws SpecError, RequestError as load_system
[[nodiscard]] ConstantsAnswer answer(const ConstantsRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::ConstantsAnswer;
using core::ConstantsRequest;
}  // namespace fabricost
