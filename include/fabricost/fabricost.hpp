#pragma once
/// \file fabricost.hpp
/// What a question about a collective needs: units, hardware, operations, choices and predictions. Loading a machine is
/// fabricost/specs/load.hpp; schedules, prices and the choice by themselves are algorithms/schedule_of.hpp, price/price.hpp and
/// choice/pick.hpp.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/units.hpp>
