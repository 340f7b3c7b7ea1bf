#pragma once
/// Answers as JSON, from their tables of fields: json_of(answer), `out << answer`, fmt::format("{}", answer) and, where the standard
/// library has it, std::format. Keys, units and order are those of the command's --json. Needs nlohmann/json, which no other header does.

#include <fabricost/error.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/text/print.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <concepts>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fabricost::core {

/// On lines of their own, with an indent of 2; bytes of file names and log lines that are no UTF-8 are replaced.
[[nodiscard]] inline std::string printed(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

namespace json_parts {
using Json = nlohmann::ordered_json;

/// One text, or several, with fields of the request by the names of their members; without effect where an interface has spelled them.
inline void spell(Json& texts) {
  if (texts.is_string()) texts = with_fields(texts.get_ref<const std::string&>(), as_member);
  if (texts.is_array())
    for (Json& text : texts) spell(text);
}
/// Objects at the same path are merged; a path that ends in "[]" appends to a list.
inline void put(Json& into, std::string_view path, Json value) {
  const std::size_t dot = path.find('.');
  const bool list = dot == std::string_view::npos && path.ends_with("[]");
  Json& at = into[std::string{list ? path.substr(0, path.size() - 2) : path.substr(0, dot)}];
  if (dot != std::string_view::npos)
    put(at, path.substr(dot + 1), std::move(value));
  else if (list)
    at.push_back(std::move(value));
  else if (at.is_object() && value.is_object())
    at.update(value);
  else
    at = std::move(value);
}
[[nodiscard]] Json json_value(const ValueType& type, const void* value, const JsonUnit& unit = {});

[[nodiscard]] inline Json number_as_json(double value, const JsonUnit& unit) {
  const bool whole = unit.whole && value == std::floor(value) && std::fabs(value) < 9e15;
  return whole ? Json(static_cast<long long>(value)) : Json(value / unit.over * unit.times);
}
/// Fields in the order of their table, "a.b" inside the object "a".
[[nodiscard]] inline Json object_of(std::span<const Field> fields, const void* object) {
  Json out = Json::object();
  for (const Field& field : fields) {
    const std::string_view path = field.json;
    if (path.empty() || (field.beside && !out.contains(std::string{path.substr(0, path.find('.'))}))) continue;
    const auto value = field.value(object);
    const bool absent = (field.left_out || field.alone) && field.type->absent != nullptr && field.type->absent(value.get());
    if (field.left_out && absent) continue;
    JsonUnit unit = field.json_unit;
    unit.whole = path.ends_with("bytes");
    Json json = json_value(*field.type, value.get(), unit);
    if (field.names_fields) spell(json);
    put(out, path, std::move(json));
    if (field.alone && !absent) break;
  }
  return out;
}
inline Json json_value(const ValueType& type, const void* value, const JsonUnit& unit) {
  const auto listed = [&] {
    Json out = Json::array();
    for (std::size_t i = 0; i < type.count(value); ++i)
      out.push_back(json_value(type.part(i), type.at(value, i), unit));
    return out;
  };
  switch (type.kind) {
    case ValueKind::flag: return type.number(value) != 0;
    case ValueKind::whole: return static_cast<long long>(type.number(value));
    case ValueKind::number: return number_as_json(type.number(value), unit);
    case ValueKind::text:
    case ValueKind::word: return type.text(value);
    case ValueKind::optional: return type.count(value) == 0 ? Json(nullptr) : json_value(*type.inner, type.at(value, 0), unit);
    case ValueKind::list:
    case ValueKind::pair: return listed();
    case ValueKind::by_name: {
      Json out = Json::object();
      for (std::size_t i = 0; i < type.count(value); ++i)
        out[std::string{type.name_at(value, i)}] = json_value(*type.inner, type.at(value, i), unit);
      return out;
    }
    case ValueKind::record: return object_of(type.fields(), value);
    case ValueKind::variant: return json_value(*type.alternatives[type.chosen(value)], type.held(value), unit);
    case ValueKind::other: break;
  }
  throw std::logic_error("a field of Python alone");
}
}  // namespace json_parts

/// An answer as JSON: fields in the order of their table, "a.b" inside the object "a".
template <HasFields Answer>
[[nodiscard]] nlohmann::ordered_json json_of(const Answer& answer) {
  return json_parts::object_of(fields_of<Answer>(), &answer);
}

/// A struct whose table of fields is that of an answer.
template <class A>
concept AnswerFields = HasFields<A> && std::same_as<decltype(table_for(std::type_identity<A>{})), AnswerTable<A>>;

template <AnswerFields Answer>
std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  return out << printed(json_of(answer));
}

namespace detail {
struct AsJson {
  template <class Answer>
  [[nodiscard]] std::string operator()(const Answer& answer) const {
    return printed(json_of(answer));
  }
};
}  // namespace detail

}  // namespace fabricost::core

namespace fabricost {
using core::json_of;
}  // namespace fabricost

#if __has_include(<fmt/format.h>)
template <fabricost::core::AnswerFields Answer>
struct fmt::formatter<Answer> : fabricost::core::FormatAs<fmt::formatter<std::string_view>, fabricost::core::detail::AsJson> {};
#endif
#ifdef __cpp_lib_format
template <fabricost::core::AnswerFields Answer>
struct std::formatter<Answer> : fabricost::core::FormatAs<std::formatter<std::string_view>, fabricost::core::detail::AsJson> {};
#endif
