#pragma once
/// \file fabricost.hpp
/// What a question about a collective needs: units, hardware, machines of data/, operations, choices and predictions. Schedules, prices
/// and the choice by themselves are algorithms/schedule_of.hpp, price/price.hpp and choice/pick.hpp.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/units.hpp>

#ifndef FABRICOST_HEADER_ONLY  // reading files is compiled: fabricost::core
#include <fabricost/specs/load.hpp>
#endif
