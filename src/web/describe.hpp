#pragma once
/// \file describe.hpp
/// A question's fields as JSON, from which a page makes its controls: name, words, unit, range, default, and the words that it takes.

#include "web/request.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/json.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

namespace fabricost {
struct TimesGiven;
struct PlannedRate;
}  // namespace fabricost

namespace fabricost::web {

/// "name", or "name = 256MiB": a field in a message. \param amount how its value is written
[[nodiscard]] std::string spelled(std::string_view name, std::string_view value, Amount amount);

/// The same of a request's fields, by their names in messages.
template <HasFields Request>
[[nodiscard]] std::string spelled_field(std::string_view name, std::string_view value) {
  std::string out = spelled(name, value, Amount::number);
  for_each_field<Request>([&](const auto& field) {
    if (field.name == name) out = spelled(name, value, field.amount);
  });
  return out;
}

/// The part of a description that does not depend on the type. Amounts have the names of the enumeration.
[[nodiscard]] Json described(std::string_view name, std::string_view option, std::string words, std::string_view kind, Amount amount,
                             const Range& range, bool needed);
/// Names of data/ that a field takes.
[[nodiscard]] Json stack_choices();

namespace parts {

template <class E>
[[nodiscard]] Json words_as_json() {
  Json out = Json::array();
  for (const std::string_view word : words_of(E{}).names) out.push_back(word);
  return out;
}

/// Adds the kind of control for a field, and its choices. \tparam T without optional
template <class T>
void add_type(Json& out) {
  if constexpr (std::same_as<T, Machine>)
    out["type"] = "machine";
  else if constexpr (std::same_as<T, std::vector<Machine>> || std::same_as<T, Machines>)
    out["type"] = "machines";
  else if constexpr (std::same_as<T, NamedModel>)
    out["type"] = "model";
  else if constexpr (std::same_as<T, NamedStack>) {
    out["type"] = "choice";
    out["choices"] = stack_choices();
  } else if constexpr (std::same_as<T, std::filesystem::path> || std::same_as<T, Sample>)
    out["type"] = "file";
  else if constexpr (std::same_as<T, std::vector<Sample>>)
    out["type"] = "files";
  else if constexpr (std::same_as<T, bool>)
    out["type"] = "flag";
  else if constexpr (std::is_enum_v<T>) {
    out["type"] = "choice";
    out["choices"] = words_as_json<T>();
  } else if constexpr (is_number<T>)
    out["type"] = "number";
  else if constexpr (std::same_as<T, Counts>)
    out["type"] = "counts";
  else if constexpr (faces::is_list<T> && !std::same_as<Numbers<T>, std::vector<double>>)
    out["type"] = "texts";
  else
    out["type"] = "text";
}

template <class T>
[[nodiscard]] Json default_of(const T& value, Amount amount, const Range& range) {
  if constexpr (std::same_as<T, bool>)
    return value;
  else if constexpr (std::same_as<T, int> || std::same_as<T, double>)
    return range.holds(static_cast<double>(value)) && std::isfinite(static_cast<double>(value))
               ? Json(faces::as_typed(fmt::format("{}", value), amount))
               : Json(nullptr);
  else if constexpr (std::is_enum_v<T>)
    return words_of(T{}).names[static_cast<std::size_t>(value)];
  else if constexpr (std::same_as<T, std::string>)
    return value.empty() ? Json(nullptr) : Json(value);
  else if constexpr (std::same_as<T, NamedStack>)
    return value.name.empty() ? Json(nullptr) : Json(value.name);
  else
    return nullptr;
}

}  // namespace parts

template <HasFields Request>
[[nodiscard]] Json fields_as_json() {
  [[maybe_unused]] static const Request defaults{};
  Json out = Json::array();
  for_each_field<Request>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    Json one = described(field.name, field.option, with_fields(field.words, spelled_field<Request>), field.kind, field.amount, field.range,
                         field.needed);
    if constexpr (std::same_as<T, std::optional<bool>>) {  // its absence has a third meaning
      one["type"] = "choice";
      one["choices"] = Json::array({"no", "yes"});
    } else {
      parts::add_type<parts::Bare<T>>(one);
    }
    const Json by_default = parts::default_of(numbers_in(defaults.*(field.member)), field.amount, field.range);
    if (!by_default.is_null()) one["default"] = by_default;
    out.push_back(std::move(one));
  });
  return out;
}

}  // namespace fabricost::web
