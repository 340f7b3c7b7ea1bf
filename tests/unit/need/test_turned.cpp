// A machine that need turns is the one that `dial.` among a machine's overrides gives: one rule for both.
#include "catch.hpp"

#include <fabricost/plan/answers/design/need.hpp>

using namespace fabricost::plan;

TEST_CASE("need answers at each value what plan answers for the machine with that dial") {
  for (const auto& [dial, value] : {std::pair{"nic.bandwidth", "40GB/s per direction"}, std::pair{"nic.count", "4"},
                                    std::pair{"domain", "16"}, std::pair{"scale_up.bandwidth", "600GB/s per direction"},
                                    std::pair{"hbm.bandwidth", "5TB/s"}, std::pair{"hbm.size", "120GB"}, std::pair{"arithmetic", "2"}}) {
    CAPTURE(dial);
    PlanRequest plan;
    plan.system.name = "dgx-h100";
    plan.model.name = "mixtral-8x7b";
    plan.gpus = 64;
    plan.global_batch = 128;
    plan.top = 1;
    NeedRequest need;
    static_cast<PlanRequest&>(need) = plan;
    need.unknown = dial;
    need.over = value;
    need.step = units::s(1e6);
    plan.overrides = {std::string{"dial."} + dial + "=" + value};
    const NeedAnswer found = answer(need);
    REQUIRE(found.layout);
    CHECK(*found.layout == answer(plan).layouts.front());
  }
}
