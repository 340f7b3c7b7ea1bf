/// Every question.

#include "web/questions/question.hpp"

namespace fabricost::web {

std::vector<Question> questions_here() {
  std::vector<Question> out;
  for (const auto some : {&collective_questions, &network_questions, &workload_questions, &job_questions})
    for (const Question& one : some()) out.push_back(one);
  return out;
}

}  // namespace fabricost::web
