#pragma once
/// \file fabricost.hpp
/// Everything that needs no file: units, hardware, algorithms, prices, choice and predictions. Loading a machine is
/// fabricost/specs/load.hpp.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/units.hpp>
