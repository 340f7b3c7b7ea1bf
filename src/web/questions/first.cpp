/// The questions of the module that a first visit loads.

#include "web/questions/question.hpp"

namespace fabricost::web {

std::vector<Question> questions_here() { return collective_questions(); }

}  // namespace fabricost::web
