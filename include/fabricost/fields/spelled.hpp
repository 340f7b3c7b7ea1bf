#pragma once
/// \file spelled.hpp
/// Texts of an answer that name fields of the request (Gives::names_fields), in the words of a face: --mfu, mfu=, mfu.

#include <fabricost/error.hpp>
#include <fabricost/fields/fields.hpp>

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace fabricost {

/// Replaces the fields that texts of an answer, or of any part of it, name in angle brackets. \param spelled as with_fields takes it
template <class T, class Spelled>
void spell_fields(T& value, const Spelled& spelled) {
  if constexpr (HasFields<T>)
    for_each_field<T>([&](const auto& field) {
      if constexpr (!std::is_function_v<typename std::remove_cvref_t<decltype(field)>::Value>) {
        auto& part = value.*(field.member);
        if constexpr (std::is_same_v<decltype(part), std::string&>) {
          if (field.names_fields) part = with_fields(part, spelled);
        } else if constexpr (std::is_same_v<decltype(part), std::vector<std::string>&>) {
          for (std::string& one : part)
            if (field.names_fields) one = with_fields(one, spelled);
        } else {
          spell_fields(part, spelled);
        }
      }
    });
  else if constexpr (requires { value.valueless_by_exception(); })
    std::visit([&](auto& one) { spell_fields(one, spelled); }, value);
  else if constexpr (requires {
                       requires HasFields<typename T::value_type>;
                       value.has_value();
                     }) {
    if (value) spell_fields(*value, spelled);
  } else if constexpr (requires {
                         requires HasFields<typename T::value_type>;
                         value.begin();
                       })
    for (auto& row : value) spell_fields(row, spelled);
}

}  // namespace fabricost
