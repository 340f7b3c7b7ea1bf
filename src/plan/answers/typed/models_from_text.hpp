#pragma once
/// \file models_from_text.hpp
/// Names of models and stacks as typed. Private.

#include "answers/typed/from_text.hpp"

#include <fabricost/plan/fields/named_models.hpp>

namespace fabricost {

inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, NamedModel& out) { out.name = text; }
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, NamedStack& out) { out.name = text; }

}  // namespace fabricost
