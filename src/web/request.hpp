#pragma once
/// \file request.hpp
/// A request from the JSON that a page sends: fields by name, each as people write it ("256MiB", "1:64:x2") or as JSON (true, 8, a list).

#include "faces/planned.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <nlohmann/json.hpp>

#include <concepts>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fabricost::web {

using Json = nlohmann::ordered_json;

/// A fault of one field, in words that begin with its name.
class FieldError : public RequestError {
 public:
  FieldError(std::string field, const std::string& text) : RequestError(text), field_(std::move(field)) {}
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

 private:
  std::string field_;
};

/// The name a field has here: its own; of one that Python has inside another argument, that of its option: "overrides", "calibration".
[[nodiscard]] std::string name_of(std::string_view name, std::string_view option);

/// A JSON number or text as text. \throws FieldError for anything else
[[nodiscard]] std::string text_in(const Json& given, const std::string& name);
/// Reads as text_in; joins a list with commas.
[[nodiscard]] std::string joined_text_in(const Json& given, const std::string& name);
/// \throws FieldError unless it is a list of at most some thousand items
void check_list(const Json& given, const std::string& name);
[[nodiscard]] bool flag_in(const Json& given, const std::string& name);
/// A JSON number in SI units. \throws FieldError outside the range, or for a fraction where a whole number is due
[[nodiscard]] double number_in(const Json& given, const std::string& name, const Range& range, bool whole);
/// \throws FieldError for a key that is no field \param names of the fields
void check_names(const Json& fields, const std::vector<std::string>& names);

namespace parts {
template <class T>
struct Inner {
  using Type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using Type = T;
};
template <class T>
using Bare = typename Inner<T>::Type;
template <class T>
inline constexpr bool is_number = std::same_as<Numbers<Bare<T>>, double> || std::same_as<Bare<T>, int>;

template <class T, class Field>
void fill(const Json& given, const std::string& name, const Field& field, T& out) {
  using faces::from_text;
  if constexpr (std::same_as<T, bool>)
    out = flag_in(given, name);
  else if constexpr (faces::is_list<T>) {
    check_list(given, name);
    for (const Json& one : given) from_text(text_in(one, name), name, field.amount, field.range, out.emplace_back());
  } else if (is_number<T> && given.is_number()) {
    if constexpr (is_number<T>) {
      const double number = number_in(given, name, field.range, std::same_as<Bare<T>, int>);
      out = with_units<Bare<T>>(static_cast<Numbers<Bare<T>>>(number));
    }
  } else if (std::same_as<Bare<T>, bool> && given.is_boolean()) {
    if constexpr (std::same_as<Bare<T>, bool>) out = given.get<bool>();
  } else {
    const std::string text = joined_text_in(given, name);
    if (!text.empty()) from_text(text, name, field.amount, field.range, out);
  }
}
}  // namespace parts

template <HasFields Request>
[[nodiscard]] std::vector<std::string> names_of_fields() {
  std::vector<std::string> out;
  for_each_field<Request>([&](const auto& field) { out.push_back(name_of(field.name, field.option)); });
  return out;
}

/// A field that is null or left out keeps its default. \throws FieldError
template <HasFields Request>
[[nodiscard]] Request request_from(const Json& fields) {
  check_names(fields, names_of_fields<Request>());
  Request out;
  for_each_field<Request>([&](const auto& field) {
    const std::string name = name_of(field.name, field.option);
    const auto given = fields.find(name);
    if (given == fields.end() || given->is_null()) return;
    try {
      parts::fill(*given, name, field, out.*(field.member));
    } catch (const FieldError&) {
      throw;
    } catch (const RequestError& error) {
      throw FieldError(name, error.what());
    }
  });
  return out;
}

}  // namespace fabricost::web
