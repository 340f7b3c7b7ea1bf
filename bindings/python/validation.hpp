#pragma once
/// \file validation.hpp
/// fc.Validation: measured points beside their predictions.

#include "plain.hpp"

#include <fabricost/specs/saved_system.hpp>
#include <fabricost/validation/validate.hpp>

#include <pybind11/numpy.h>

namespace fabricost::python {

struct Validation {
  ValidationReport report;

  /// One row a point.
  [[nodiscard]] pybind11::array samples() const;
  [[nodiscard]] double worst_error() const;
};

/// Errors of each group, by name.
[[nodiscard]] pybind11::dict errors_by_name(const std::vector<ErrorGroup>& groups);
/// How many rows were left out, by reason.
[[nodiscard]] pybind11::dict rows_by_reason(const std::vector<Skipped>& skipped);

/// Compares with machines as `origin` overrides and calibrates them. Called with the GIL, released meanwhile.
[[nodiscard]] Validation compare(const Points& points, const SavedSystem& origin, Choice::Rule rule, bool raw);

}  // namespace fabricost::python
