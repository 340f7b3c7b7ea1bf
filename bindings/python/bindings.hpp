#pragma once
/// The parts of the Python module, each of which adds its classes and functions. arguments.hpp parses
/// arguments; plain.hpp gives value classes ==, hash(), pickling and copies.

#include <fabricost/plan/specs/stacks.hpp>
#include "arguments.hpp"

#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // in all files, since the conversion of a list would otherwise depend on which files are compiled together

namespace fabricost::python {

/// In order: classes before the functions that take them, one line per file. X(cost) declares add_cost.
#define FABRICOST_PARTS(X) \
  X(errors)                \
  X(hardware)              \
  X(operations)            \
  X(prediction)            \
  X(predictions)           \
  X(predict)               \
  X(samples)               \
  X(validation)            \
  X(fitting)               \
  X(measuring)             \
  X(diagnosis)             \
  X(trace)                 \
  X(tuning)                \
  X(topology)              \
  X(models)                \
  X(plan)                  \
  X(serving)               \
  X(rl)                    \
  X(need)                  \
  X(explore)               \
  X(moe)                   \
  X(inference)             \
  X(crossovers)            \
  X(pipeline)              \
  X(cost)                  \
  X(goodput)               \
  X(stragglers)            \
  X(sharing)               \
  X(transfer)              \
  X(compare)               \
  X(project)

#define FABRICOST_DECLARE(name) void add_##name(pybind11::module_& module);
FABRICOST_PARTS(FABRICOST_DECLARE)
#undef FABRICOST_DECLARE

/// Warns of an answer that should be read with care: a FabricostWarning at the line that asked. \throws error_already_set where
/// warnings are errors
void warn(const std::string& message);

}  // namespace fabricost::python
