/// Questions about collectives and machines: those of the module that a first visit loads.

#include "answers/verdict.hpp"
#include "web/design_parameters.hpp"
#include "web/questions/question.hpp"

#include <fabricost/answers/machine.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/answers/sweep.hpp>

namespace fabricost::web {

namespace {
constexpr auto as_rows = [](const auto& found) -> Json { return as_fields(found.rows); };
}

std::vector<Question> collective_questions() {
  return {question<SystemsRequest>("systems", "fabricost machine", "systems", "SystemsRequest"),
          question<ShowRequest>("show", "fabricost machine", "show", "ShowRequest"),
          question<ParametersRequest>("design", "", "", ""),
          question<PictureRequest>("picture", "fabricost machine --svg", "", ""),
          question<PredictRequest>("predict", "fabricost predict", "predict", "PredictRequest"),
          question<ExplainRequest>("explain", "fabricost explain", "explain", "ExplainRequest"),
          question<SweepRequest, as_rows>("sweep", "fabricost sweep", "predict", "SweepRequest"),
          question<CrossoversRequest, as_rows>("crossovers", "fabricost sweep --crossovers", "", "CrossoversRequest")};
}

}  // namespace fabricost::web
