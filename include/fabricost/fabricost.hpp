#pragma once
/// \file fabricost.hpp
/// Everything but files: units, hardware, schedules, prices, choice and predictions. Loading specs is fabricost/io/*.hpp.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/pipeline.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/units.hpp>
