#pragma once
/// The questions of component observe: each is a request, and answer(request).

#include <fabricost/fabricost.hpp>
#include <fabricost/observe/answers/topo.hpp>
#include <fabricost/observe/answers/trace.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
