#pragma once
/// Answers about jobs in one sentence, which the command and the page in a browser print first. Private.

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/answers/share.hpp>
#include <fabricost/plan/answers/stragglers.hpp>
#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/answers/tune.hpp>

#include <optional>
#include <string>
#include <string_view>

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
[[nodiscard]] std::string verdict_of(const ExploreAnswer& answer);
[[nodiscard]] std::string verdict_of(const TuneAnswer& answer);
[[nodiscard]] std::string verdict_of(const PipelineAnswer& answer);
[[nodiscard]] std::string verdict_of(const StorageAnswer& answer);
[[nodiscard]] std::string verdict_of(const AccessAnswer& answer);
[[nodiscard]] std::string verdict_of(const IncastAnswer& answer);
/// "zb_h1, 4 stages, 8 microbatches"
[[nodiscard]] std::string title_of(const PipelineAnswer& answer);
/// "rented", "committed", "owned" or "stated": by how dollars are counted; empty for none.
[[nodiscard]] std::string_view paid_words(const std::optional<std::string>& price_kind);
/// "NCCL" or "RCCL".
[[nodiscard]] std::string_view library_text(const TuneAnswer& answer);
/// "every node reads all"; "the node" where there is one.
[[nodiscard]] std::string_view sharing_text(const StorageAnswer& answer, std::size_t way);

}  // namespace fabricost::plan
