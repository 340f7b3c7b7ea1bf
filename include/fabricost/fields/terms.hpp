#pragma once
/// The terms of an operation's time, as answers list them.

#include <fabricost/fields/fields.hpp>
#include <fabricost/predict/prediction.hpp>

#include <type_traits>

namespace fabricost::core {

[[nodiscard]] AnswerTable<Term> table_for(std::type_identity<Term> of);

}  // namespace fabricost::core
