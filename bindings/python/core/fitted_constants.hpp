#pragma once
/// Constants that machines are priced with instead of what their files say: fits, means of fits, and values.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/fields/field.hpp>

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace fabricost::python {

/// The mean of a fit's sets, for a machine that none of them is of.
struct FitMean {
  std::shared_ptr<const Calibration> of;
  bool between_nodes = false;  ///< of the transports, else of the sets inside a node
  void apply(System& system) const;
};

}  // namespace fabricost::python

namespace fabricost::core {

/// Applied to a machine in this order.
struct FittedConstants {
  std::vector<std::function<void(System&)>> each;
  [[nodiscard]] std::function<void(System&)> applied() const;
};
/// Fits, means of fits, and dicts of values by `SET.NAME`. Found by ADL from question.hpp. \throws TypeError, RequestError
void from_object(pybind11::handle given, std::string_view name, const Range&, FittedConstants& out);

}  // namespace fabricost::core
