#pragma once
/// \file spelled.hpp
/// Texts of an answer that name fields of the request (AnswerField::names_fields), in the words of an interface: --mfu, mfu=, mfu.

#include <fabricost/error.hpp>
#include <fabricost/fields/field.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace fabricost::core {

/// How an interface writes a field, as with_fields takes it.
using Spelling = std::function<std::string(std::string_view name, std::string_view value)>;

/// Replaces the fields that texts of a value, or of any part of it, name in angle brackets.
void spell_fields(const ValueType& type, void* value, const Spelling& spelled);
template <class T>
void spell_fields(T& value, const Spelling& spelled) {
  spell_fields(value_type<T>, &value, spelled);
}

}  // namespace fabricost::core
