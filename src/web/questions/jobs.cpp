/// Questions about a job's failures, waiting, money and schedule.

#include "answers/job_verdict.hpp"
#include "web/questions/question.hpp"

#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/answers/stragglers.hpp>

namespace fabricost::web {

std::vector<Question> job_questions() {
  return {question<CostRequest>("cost", "fabricost cost", "cost", "CostRequest"),
          question<GoodputRequest>("goodput", "fabricost goodput", "goodput", "GoodputRequest"),
          question<StragglersRequest>("stragglers", "fabricost stragglers", "stragglers", "StragglersRequest"),
          question<PipelineRequest>("pipeline", "fabricost pipeline", "pipeline", "PipelineRequest"),
          question<ProjectRequest>("project", "fabricost project", "project", "ProjectRequest"),
          question<NeedMachineRequest>("need_machine", "fabricost need machine --train", "need_machine", "NeedMachineRequest")};
}

}  // namespace fabricost::web
