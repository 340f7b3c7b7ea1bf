#pragma once
/// fc.Predictions: the answers to a request with array fields, as arrays.
///
/// Everything independent of the size is compiled once per distinct (ranks, nodes) into a Curve; a size then
/// costs one evaluation. Seconds are computed at construction; everything else on demand, and texts and
/// intervals are cached.

#include "core/operations.hpp"
#include "record.hpp"

#include <fabricost/predict/predict.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

namespace fabricost::python {

/// Memory layout of the fields of a broadcast request. Plain numbers have stride 0.
struct Grid {
  struct Axis {
    std::int64_t count = 1;
    std::int64_t bytes = 0, ranks = 0, nodes = 0;  ///< strides, in bytes of memory
  };
  std::vector<Axis> axes;  ///< axes along which all strides agree are merged
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
  pybind11::dict kept;      ///< results computed before
  bool uses_nics = false;   ///< some of them leave a scale-up domain

  [[nodiscard]] const System& machine() const { return system.cast<const System&>(); }
  [[nodiscard]] std::int64_t size() const;
  /// Whether it is float64 in C order of that shape, as required of unpickled bytes.
  [[nodiscard]] bool has_shape_of_seconds() const;
};

/// Evaluates every size. \param threads number of threads; 0: chosen by the number of sizes \throws
/// RequestError naming field, index and value of an invalid element
[[nodiscard]] Predictions predict_all(pybind11::object system, const OperationRequest& operation, const Choice& choice, int threads = 0);

/// The whole answer at one size of a curve.
[[nodiscard]] Prediction answer_at(const System& system, const Operation& op, const Choice& choice, const Curve& curve, double bytes);

/// An array that can no longer be written to.
[[nodiscard]] pybind11::array sealed(pybind11::array array);

/// One field, broadcast to the shape without a copy.
[[nodiscard]] pybind11::object stretched(const pybind11::object& field, const Predictions& p);

/// Adds the properties of fc.Predictions that are computed on demand.
void add_columns(PyClass<Predictions>& type);

}  // namespace fabricost::python
