#pragma once
/// \file json.hpp
/// Answers as JSON, from their tables of fields: json_of(answer), `out << answer`, fmt::format("{}", answer) and, where the standard
/// library has it, std::format. Keys, units and order are those of the command's --json. Needs nlohmann/json, which no other header does.

#include <fabricost/error.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/text/print.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <concepts>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace fabricost {

/// On lines of their own, with an indent of 2; bytes of file names and log lines that are no UTF-8 are replaced.
[[nodiscard]] inline std::string printed(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// An answer as JSON: fields in the order of their table, "a.b" inside the object "a".
template <HasFields Answer>
[[nodiscard]] nlohmann::ordered_json json_of(const Answer& answer);

namespace json_parts {
using Json = nlohmann::ordered_json;

template <class T>
[[nodiscard]] Json json_value(const T& value, const JsonUnit& unit) {
  if constexpr (HasFields<T>)
    return json_of(value);
  else if constexpr (requires { value.valueless_by_exception(); })  // a variant
    return std::visit([&](const auto& one) { return json_value(one, unit); }, value);
  else if constexpr (requires {
                       value.first;
                       value.second;
                     })
    return Json::array({json_value(value.first, unit), json_value(value.second, unit)});
  else if constexpr (std::same_as<T, double>) {
    const bool whole = unit.whole && value == std::floor(value) && std::fabs(value) < 9e15;
    return whole ? Json(static_cast<long long>(value)) : Json(value / unit.over * unit.times);
  } else if constexpr (is_quantity<T>)
    return json_value(value.value(), unit);
  else if constexpr (requires { value.view(); })
    return Json(value.view());
  else if constexpr (std::is_enum_v<T>)
    return Json(name(value));
  else if constexpr (requires {
                       typename T::value_type;
                       value.has_value();
                     })
    return value ? json_value(*value, unit) : Json(nullptr);
  else if constexpr (requires { value.begin()->second; }) {
    Json out = Json::object();
    for (const auto& [name, each] : value) out[name] = json_value(each, unit);
    return out;
  } else if constexpr (requires { requires HasFields<std::remove_cvref_t<decltype(*value.begin())>>; }) {
    Json out = Json::array();
    for (const auto& each : value) out.push_back(json_of(each));
    return out;
  } else if constexpr (std::constructible_from<Json, const T&>)
    return Json(value);
  else
    throw std::logic_error("a field of Python alone");
}
template <class T>
[[nodiscard]] bool absent(const T& value) {
  if constexpr (requires { value.has_value(); })
    return !value.has_value();
  else if constexpr (requires { value.empty(); })
    return value.empty();
  else if constexpr (std::integral<T> && !std::same_as<T, bool>)
    return value == 0;
  else
    return false;
}
/// One text, or several, with fields of the request by the names of their members; without effect where a face has spelled them.
inline void spell(Json& texts) {
  if (texts.is_string()) texts = with_fields(texts.get_ref<const std::string&>(), detail::as_member);
  if (texts.is_array())
    for (Json& text : texts) spell(text);
}
/// Whether the key of a path is printed. \param left_out the field may be left out, and its value is absent
[[nodiscard]] inline bool is_printed(const Json& into, std::string_view path, bool left_out, bool beside) {
  return !path.empty() && !left_out && (!beside || into.contains(std::string{path.substr(0, path.find('.'))}));
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
}  // namespace json_parts

template <HasFields Answer>
nlohmann::ordered_json json_of(const Answer& answer) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  bool complete = false;
  for_each_field<Answer>([&](const auto& field) {
    const auto& value = std::invoke(field.member, answer);
    const bool absent = json_parts::absent(value);
    if (complete || !json_parts::is_printed(out, field.json, field.left_out && absent, field.beside)) return;
    complete = field.alone && !absent;
    nlohmann::ordered_json json = json_parts::json_value(value, field.json_unit);
    if (field.names_fields) json_parts::spell(json);
    json_parts::put(out, field.json, std::move(json));
  });
  return out;
}

/// A struct whose table of fields is that of an answer.
template <class A>
concept AnswerFields = HasFields<A> && requires {
  table_of<A>.template at<0>().json;
};

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

}  // namespace fabricost

#if __has_include(<fmt/format.h>)
template <fabricost::AnswerFields Answer>
struct fmt::formatter<Answer> : fabricost::detail::FormatAs<fmt::formatter<std::string_view>, fabricost::detail::AsJson> {};
#endif
#ifdef __cpp_lib_format
template <fabricost::AnswerFields Answer>
struct std::formatter<Answer> : fabricost::detail::FormatAs<std::formatter<std::string_view>, fabricost::detail::AsJson> {};
#endif
