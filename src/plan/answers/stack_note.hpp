#pragma once
/// The field of answers that say where a stack was not measured. Private.

#include <fabricost/fields/field.hpp>

namespace fabricost::plan::field {

template <class A>
inline constexpr auto give_stack_note = names_fields(gives(&A::stack_note, "stack_note", "stack_note",
                                                           "Training: that no steps of the stack were measured on such GPUs; empty: some were.",
                                                           1, true));

}  // namespace fabricost::plan::field
