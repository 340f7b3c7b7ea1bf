#pragma once
/// \file compared.hpp
/// Machines side by side, as compare and project answer, as JSON.

#include <fabricost/answers/compare.hpp>
#include <fabricost/answers/design/project.hpp>
#include <fabricost/fields/json.hpp>

namespace fabricost::faces {

/// The reason why a machine cannot do the job, in the words of a face. \param spelled as with_fields takes it
template <class Spelled>
void spell_troubles(CompareAnswer& answer, Spelled&& spelled) {
  for (std::size_t i = 0; i < answer.rows.size(); ++i) answer.rows[i].trouble = with_fields(answer.all[i].refused, spelled);
}

template <class Spelled>
void spell_troubles(ProjectAnswer& answer, Spelled&& spelled) {
  for (std::size_t i = 0; i < answer.rows.size(); ++i) answer.rows[i].trouble = with_fields(answer.refused[i], spelled);
}

/// A machine that cannot do the job has only its error.
template <class Answer>
[[nodiscard]] nlohmann::ordered_json json_of_compared(const Answer& answer) {
  nlohmann::ordered_json out = json_of(answer);
  for (auto& row : out["systems"])
    if (row.contains("trouble")) {
      nlohmann::ordered_json kept;
      for (const char* const field : {"system", "trouble"}) kept[field] = row[field];
      row = std::move(kept);
    }
  return out;
}
/// The same in the words of a face. \param spelled as with_fields takes it
template <class Answer, class Spelled>
[[nodiscard]] nlohmann::ordered_json json_of_compared(Answer answer, Spelled&& spelled) {
  spell_troubles(answer, spelled);
  return json_of_compared(answer);
}

}  // namespace fabricost::faces
