#pragma once
/// Answers in one sentence, which the command and the page in a browser print first. Private.

#include <fabricost/answers/moe.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/answers/sweep.hpp>

#include <string>
#include <vector>

namespace fabricost::core {

[[nodiscard]] std::string verdict_of(const PredictAnswer& answer);
[[nodiscard]] std::string verdict_of(const MoeAnswer& answer);
/// Of one exchange at several numbers of tokens.
[[nodiscard]] std::string verdict_of(const std::vector<MoeAnswer>& answers);
[[nodiscard]] std::string verdict_of(const SweepAnswer& answer);
[[nodiscard]] std::string verdict_of(const CrossoversAnswer& answer);

}  // namespace fabricost::core
