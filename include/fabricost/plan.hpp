#pragma once
/// The questions of component plan: each is a request, which has the command's defaults, and answer(request). Training is PlanRequest,
/// serving ServeRequest. A program that asks one of them includes its header alone.

#include <fabricost/fabricost.hpp>
#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/answers/share.hpp>
#include <fabricost/plan/answers/stragglers.hpp>
#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/answers/tune.hpp>
