#pragma once
/// \file predictions.hpp
/// fc.Predictions: the answers to a question whose fields are arrays, as arrays.
///
/// What does not depend on the size is compiled once per distinct (ranks, nodes) into a Curve; a size then costs one evaluation. Seconds
/// are there from the start; everything else is worked out when it is asked for, and text and intervals are kept then.

#include "collectives/operations.hpp"

#include <fabricost/predict/predict.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace fabricost::python {

/// Where in memory the fields of a broadcast question lie. Fields that are one number have stride 0.
struct Grid {
  struct Axis {
    std::int64_t count = 1;
    std::int64_t bytes = 0, ranks = 0, nodes = 0;  ///< strides, in bytes of memory
  };
  std::vector<Axis> axes;  ///< axes along which all strides agree are one
  const char* bytes = nullptr;
  const char* ranks = nullptr;
  const char* nodes = nullptr;
};

struct Predictions {
  pybind11::object system;  ///< a System
  OperationRequest operation;
  Choice choice;
  std::vector<pybind11::ssize_t> shape;
  pybind11::array seconds;  ///< float64, C order, cannot be written to
  pybind11::dict kept;      ///< what was asked for before

  [[nodiscard]] const System& machine() const { return system.cast<const System&>(); }
  [[nodiscard]] std::int64_t size() const;
  /// float64 in C order of that shape: what unpickled bytes have to be.
  [[nodiscard]] bool has_shape_of_seconds() const;
};

/// Evaluates every size. \param threads that share them; 0: as many as pay \throws RequestError naming field, place and value of what
/// cannot be answered
[[nodiscard]] Predictions predict_all(pybind11::object system, const OperationRequest& operation, const Choice& choice, int threads = 0);

/// The whole answer at one size of a curve.
[[nodiscard]] Prediction answer_at(const System& system, const Operation& op, const Choice& choice, const Curve& curve, double bytes);

/// An array that nobody writes to any more.
[[nodiscard]] pybind11::array sealed(pybind11::array array);

/// One field, stretched over the shape without a copy.
[[nodiscard]] pybind11::object stretched(const pybind11::object& field, const Predictions& p);

/// What is worked out when it is asked for: properties of fc.Predictions.
void add_columns(pybind11::class_<Predictions>& type);

}  // namespace fabricost::python
