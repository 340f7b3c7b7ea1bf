#pragma once
/// A request from the JSON that a page sends: fields by name, each as people write it ("256MiB", "1:64:x2") or as JSON (true, 8, a list).

#include "answers/typed.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/fields/named.hpp>

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
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

[[nodiscard]] inline bool is_number(const ValueType& type) {
  return type.bare().kind == ValueKind::whole || type.bare().kind == ValueKind::number;
}
template <class T>
[[nodiscard]] bool is(const ValueType& type) {
  return is_type<T>(type);
}

[[nodiscard]] std::vector<std::string> names_of(std::span<const Field> fields);
/// Puts what a page sent into a request. A field that is null or left out keeps its default. \throws FieldError
void put_given(const Json& given, std::span<const Field> fields, void* request);

}  // namespace fabricost::web
