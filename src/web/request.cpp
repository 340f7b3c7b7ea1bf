/// JSON values as texts, flags and numbers.

#include "web/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::web {

namespace {
constexpr std::size_t max_items = 10'000, longest_text = std::size_t{1} << 20U;
}

std::string name_of(std::string_view name, std::string_view option) {
  if (!name.empty()) return std::string{name};
  if (option == "--set") return "overrides";
  std::string out{option.substr(0, option.find(','))};
  out.erase(0, std::min(out.find_first_not_of('-'), out.size()));
  std::replace(out.begin(), out.end(), '-', '_');
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

std::string text_in(const Json& given, const std::string& name) {
  if (given.is_number()) return given.dump();
  if (!given.is_string()) throw FieldError(name, name + ": write a text or a number");
  const auto& text = given.get_ref<const std::string&>();
  if (text.size() > longest_text) throw FieldError(name, name + ": is longer than 1 MiB");
  return text;
}

std::string joined_text_in(const Json& given, const std::string& name) {
  if (!given.is_array()) return text_in(given, name);
  check_list(given, name);
  std::string out;
  for (const Json& one : given) out += (out.empty() ? "" : ",") + text_in(one, name);
  return out;
}

void check_list(const Json& given, const std::string& name) {
  if (!given.is_array()) throw FieldError(name, name + ": write a list");
  if (given.size() > max_items) throw FieldError(name, fmt::format("{}: has more than {} items", name, max_items));
}

bool flag_in(const Json& given, const std::string& name) {
  if (!given.is_boolean()) throw FieldError(name, name + ": is true or false");
  return given.get<bool>();
}

double number_in(const Json& given, const std::string& name, const Range& range, bool whole) {
  const auto value = given.get<double>();
  if (!range.holds(value)) refuse_range(name, value, range);
  if (whole && (value != std::floor(value) || std::fabs(value) > any_count.max * 1000))
    throw FieldError(name, fmt::format("{}: {} is not a whole number", name, value));
  return value;
}

void check_names(const Json& fields, const std::vector<std::string>& names) {
  if (!fields.is_object()) throw RequestError("fields: write an object, a value for each field by its name");
  for (const auto& [name, value] : fields.items())
    if (std::find(names.begin(), names.end(), name) == names.end()) throw FieldError(name, unknown_text(name, "a field", names));
}

std::vector<std::string> names_of(std::span<const Field> fields) {
  std::vector<std::string> out;
  for (const Field& field : fields) out.push_back(name_of(field.name, field.option));
  return out;
}

namespace {
void put(const Json& given, const std::string& name, const Field& field, void* out) {
  const ValueType &type = *field.type, &one = type.bare();
  const auto place = [&] { return &one == &type ? out : type.add(out); };
  if (type.kind == ValueKind::flag || (one.kind == ValueKind::flag && given.is_boolean())) {
    one.set_number(place(), flag_in(given, name) ? 1 : 0);
  } else if (type.kind == ValueKind::list) {
    check_list(given, name);
    for (const Json& each : given) parse_value(*type.inner, text_in(each, name), name, field.amount, field.range, type.add(out));
  } else if (is_number(type) && given.is_number()) {
    const double number = number_in(given, name, field.range, one.kind == ValueKind::whole);
    one.set_number(place(), number);
  } else if (const std::string text = joined_text_in(given, name); !text.empty()) {
    parse_value(type, text, name, field.amount, field.range, out);
  }
}
}  // namespace

void put_given(const Json& given, std::span<const Field> fields, void* request) {
  check_names(given, names_of(fields));
  for (const Field& field : fields) {
    const std::string name = name_of(field.name, field.option);
    const auto one = given.find(name);
    if (one == given.end() || one->is_null()) continue;
    try {
      put(*one, name, field, field.in(request));
    } catch (const FieldError&) {
      throw;
    } catch (const RequestError& error) {
      throw FieldError(name, error.what());
    }
  }
}

}  // namespace fabricost::web
