#pragma once
/// \file job_verdict.hpp
/// Answers about jobs in one sentence, which the command and the page in a browser print first. Private.

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/answers/share.hpp>
#include <fabricost/plan/answers/stragglers.hpp>

#include <string>

namespace fabricost::plan {

[[nodiscard]] std::string verdict_of(const PlanAnswer& answer);
[[nodiscard]] std::string verdict_of(const ServeAnswer& answer);
[[nodiscard]] std::string verdict_of(const RlAnswer& answer);
[[nodiscard]] std::string verdict_of(const NeedAnswer& answer);
[[nodiscard]] std::string verdict_of(const NeedMachineAnswer& answer);
/// \param answer with a machine that can do the run, or "None ends in time."
[[nodiscard]] std::string verdict_of(const ProjectAnswer& answer);
[[nodiscard]] std::string verdict_of(const CompareAnswer& answer);
[[nodiscard]] std::string verdict_of(const CostAnswer& answer);
[[nodiscard]] std::string verdict_of(const GoodputAnswer& answer);
[[nodiscard]] std::string verdict_of(const StragglersAnswer& answer);
[[nodiscard]] std::string verdict_of(const ShareAnswer& answer);

}  // namespace fabricost::plan
