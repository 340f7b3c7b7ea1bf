/// Further questions about logs, collectives and the network.

#include "answers/job_verdict.hpp"
#include "answers/verdict.hpp"
#include "web/questions/question.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/answers/moe.hpp>
#include <fabricost/plan/answers/share.hpp>
#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/answers/tune.hpp>
#include <fabricost/answers/validate.hpp>

namespace fabricost::web {

namespace {
/// The fields that predict has for every operation.
struct MoeFormRequest : MoeRequest {
  static RequestTable<MoeFormRequest> fields() {
    using R = MoeFormRequest;
    return {asks(&R::phase, "operation", "OP", " ", "Which half of the exchange"), fabricost::core::field::ask_system<R>,
            MoeRequest::fields(), fabricost::core::field::ask_calibration<R>, fabricost::core::field::ask_tier_override<R>};
  }
};
MoeAnswer answer(const MoeFormRequest& request) {
  need_machine(request.system);
  return fabricost::core::answer(static_cast<const MoeRequest&>(request));
}
}  // namespace

std::vector<Question> network_questions() {
  return {question<ValidateRequest>("validate", "fabricost validate", "validate", "ValidateRequest"),
          question<DiagnoseRequest>("diagnose", "fabricost diagnose", "diagnose", "DiagnoseRequest"),
          question<ShareRequest>("share", "fabricost share", "share", "ShareRequest"),
          question<MoeFormRequest>("moe", "fabricost predict", "", ""),
          question<StorageRequest>("transfer_storage", "fabricost transfer storage", "transfer_storage", "StorageRequest"),
          question<AccessRequest>("transfer_access", "fabricost transfer access", "transfer_access", "AccessRequest"),
          question<IncastRequest>("transfer_incast", "fabricost transfer incast", "transfer_incast", "IncastRequest"),
          question<TuneRequest>("tune", "fabricost tune", "tune", "TuneRequest")};
}

}  // namespace fabricost::web
