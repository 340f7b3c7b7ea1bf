#pragma once
/// \file same.hpp
/// Answers are compared by the fields of their tables; other members, kept for their texts, are not compared.

#include <fabricost/fields/fields.hpp>

#include <functional>

namespace fabricost {

template <HasFields Answer>
[[nodiscard]] bool same_fields(const Answer& a, const Answer& b) {
  bool out = true;
  for_each_field<Answer>([&](const auto& field) { out = out && std::invoke(field.member, a) == std::invoke(field.member, b); });
  return out;
}

}  // namespace fabricost
