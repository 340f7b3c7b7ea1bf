#pragma once
/// What a question about a collective needs: units, hardware, machines of data/, operations, choices and predictions. Schedules, prices
/// and the choice by themselves are algorithms/schedule_of.hpp, price/price.hpp and choice/pick.hpp. Questions about training, serving and
/// money are plan.hpp, those about logs and traces observe.hpp.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/units.hpp>

#ifndef FABRICOST_HEADER_ONLY  // reading files and writing text are compiled: fabricost::core
#include <fabricost/explain/explain.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>
#endif
