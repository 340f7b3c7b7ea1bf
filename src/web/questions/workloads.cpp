/// Questions about models and their software.

#include "answers/job_verdict.hpp"
#include "web/questions/question.hpp"

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>

namespace fabricost::web {

std::vector<Question> workload_questions() {
  return {question<ModelsRequest>("models", "fabricost model", "models", "ModelsRequest"),
          question<PlanRequest>("plan", "fabricost plan train", "plan", "PlanRequest"),
          question<ServeRequest>("serve", "fabricost plan serve", "plan_serve", "ServeRequest"),
          question<RlRequest>("rl", "fabricost plan rl", "plan_rl", "RlRequest"),
          question<CompareRequest>("compare", "fabricost compare", "compare", "CompareRequest"),
          question<NeedRequest>("need", "fabricost need --train", "need", "NeedRequest"),
          question<NeedServeRequest>("need_serve", "fabricost need --serve", "need_serve", "NeedServeRequest"),
          question<ExploreRequest>("explore", "fabricost explore --train", "", "ExploreRequest"),
          question<ExploreServeRequest>("explore_serve", "fabricost explore --serve", "", "ExploreServeRequest")};
}

}  // namespace fabricost::web
