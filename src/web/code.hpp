#pragma once
/// \file code.hpp
/// The same question for the command, Python and C++: lines to copy, made from the fields that are set.

#include "web/request.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/fields/named_models.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fabricost {
struct LayoutAxes;
struct GroupedRequest;
}  // namespace fabricost

namespace fabricost::web {

/// One field that is set, as each face writes it.
struct SetField {
  std::string name, option;  ///< option: empty: the command has none; its own name: it stands by itself
  std::string member;        ///< of the request in C++
  bool flag = false;         ///< an option without a value
  std::vector<std::string> typed;
  std::string python, cpp;  ///< its value; cpp is what follows `request.MEMBER`; empty: C++ is not shown
  bool nameless = false;    ///< not an argument of Python's function
  bool inside = false;      ///< Python has it inside an operation
  bool machine = false;
};

/// "a b" as a shell, Python or C++ reads it back.
[[nodiscard]] std::string shell_quoted(const std::string& text);
[[nodiscard]] std::string literal(std::string_view text);

/// \param command of the question, as "fabricost plan --train" \param python its function; empty: Python has it another way
/// \param record of C++
[[nodiscard]] Json code_of(const std::vector<SetField>& fields, std::string_view command, std::string_view python, std::string_view record);

namespace parts {

/// Slow ranks: pairs of a share and a factor.
template <class T>
inline constexpr bool is_list_of_slow = requires(const T& all) {
  all.front().share;
  all.front().factor;
};

/// Names as a list, given as one or with commas between.
[[nodiscard]] std::vector<std::string> names_in(const Json& given);

template <class T>
[[nodiscard]] std::string python_of(const T& value, const Json& given) {
  if constexpr (requires {
                  value.has_value();
                  *value;
                })
    return value ? python_of(*value, given) : "None";
  else if constexpr (std::same_as<T, bool>)
    return value ? "True" : "False";
  else if constexpr (std::same_as<T, int> || std::same_as<T, double>)
    return fmt::format("{}", value);
  else if constexpr (std::is_enum_v<T>)
    return literal(words_of(T{}).names[static_cast<std::size_t>(value)]);
  else if constexpr (std::same_as<T, Counts>)
    return value.values.size() == 1 ? fmt::format("{}", value.values.front()) : fmt::format("[{}]", fmt::join(value.values, ", "));
  else if constexpr (std::same_as<T, std::vector<double>>)
    return fmt::format("[{}]", fmt::join(value, ", "));
  else if constexpr (std::same_as<T, Machines>) {
    std::string out;
    for (const std::string& one : names_in(given)) out += (out.empty() ? "" : ", ") + literal(one);
    return "[" + out + "]";
  } else if constexpr (is_list_of_slow<T>) {
    std::string out;
    for (const auto& one : value) out += fmt::format("{}({}, {})", out.empty() ? "" : ", ", one.share, one.factor);
    return "[" + out + "]";
  } else if constexpr (faces::is_list<T>) {
    std::string out;
    for (const Json& one : given) out += (out.empty() ? "" : ", ") + literal(text_in(one, {}));
    return "[" + out + "]";
  } else
    return literal(joined_text_in(given, {}));
}

/// The unit in which C++ writes the number of a quantity.
[[nodiscard]] constexpr std::string_view unit_in_cpp(Time /*of*/) { return "s"; }
[[nodiscard]] constexpr std::string_view unit_in_cpp(Bytes /*of*/) { return "B"; }
[[nodiscard]] constexpr std::string_view unit_in_cpp(Bandwidth /*of*/) { return "B_per_s"; }
[[nodiscard]] constexpr std::string_view unit_in_cpp(Dollars /*of*/) { return "USD"; }

/// The text after `request.MEMBER`; empty where none is short enough.
template <class T>
[[nodiscard]] std::string cpp_of(const std::string& name, const T& value, const Json& given) {
  if constexpr (std::same_as<Bare<T>, bool>)
    return python_of(value, given) == "True" ? " = true" : " = false";
  else if constexpr (is_number<T> && HasQuantities<T>)
    return fmt::format(" = fabricost::units::{}({})", unit_in_cpp(Bare<T>{}), python_of(numbers_in(value), given));
  else if constexpr (is_number<T>)
    return " = " + python_of(value, given);
  else if constexpr (std::is_enum_v<T>)
    return fmt::format(" = *fabricost::worded<decltype(request.{})>({})", name, python_of(value, given));
  else if constexpr (std::is_enum_v<Bare<T>>)
    return fmt::format(" = fabricost::worded<decltype(request.{})::value_type>({})", name, python_of(value, given));
  else if constexpr (std::same_as<T, Machine> || std::same_as<T, NamedModel> || std::same_as<T, NamedStack>)
    return ".name = " + literal(joined_text_in(given, {}));
  else if constexpr (std::same_as<T, Counts>)
    return fmt::format(".values = {{{}}}", fmt::join(value.values, ", "));
  else if constexpr (std::same_as<T, std::optional<std::vector<Bytes>>>) {
    std::string out;
    for (const Bytes each : *value) out += fmt::format("{}fabricost::units::B({})", out.empty() ? "" : ", ", each.value());
    return fmt::format(".emplace({{{}}})", out);
  }
  else if constexpr (std::same_as<T, Machines>) {
    std::string out;
    for (const std::string& one : names_in(given)) out += fmt::format("{}{{{}}}", out.empty() ? "" : ", ", literal(one));
    return fmt::format(".all = {{{}}}", out);
  } else if constexpr (std::same_as<T, std::vector<Machine>> || std::same_as<T, std::vector<Sample>>) {
    std::string out;
    for (const Json& one : given) out += fmt::format("{}{{{}}}", out.empty() ? "" : ", ", literal(text_in(one, {})));
    return fmt::format(" = {{{}}}", out);
  } else if constexpr (std::same_as<T, LayoutAxes>)
    return fmt::format(" = fabricost::layout_from({}, {})", python_of(value, given), literal(name));
  else if constexpr (std::same_as<T, std::vector<GroupedRequest>>) {
    std::string out;
    for (const Json& one : given) out += fmt::format("{}fabricost::grouped_from({})", out.empty() ? "" : ", ", literal(text_in(one, {})));
    return fmt::format(" = {{{}}}", out);
  } else if constexpr (is_list_of_slow<T>) {
    std::string out;
    for (const auto& one : value) out += fmt::format("{}{{{}, {}}}", out.empty() ? "" : ", ", one.share, one.factor);
    return fmt::format(" = {{{}}}", out);
  } else if constexpr (std::same_as<Bare<T>, Inference>)
    return fmt::format(" = fabricost::engine_named({}, {})", python_of(value, given), literal(name));
  else if constexpr (std::same_as<Bare<T>, Routing>)
    return fmt::format(" = fabricost::routing_named({}, {})", python_of(value, given), literal(name));
  else if constexpr (faces::is_list<T>) {
    if constexpr (std::is_class_v<typename T::value_type> && !std::convertible_to<std::string, typename T::value_type>) return {};
    const std::string list = python_of(value, given);
    return " = {" + list.substr(1, list.size() - 2) + "}";
  } else
    return " = " + python_of(value, given);
}

}  // namespace parts

/// The fields that are set, in the order of the table. \throws as request_from
template <HasFields Request>
[[nodiscard]] std::vector<SetField> set_fields(const Json& fields) {
  const auto request = request_from<Request>(fields);
  std::vector<SetField> out;
  for_each_field<Request>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    const std::string name = name_of(field.name, field.option);
    const auto given = fields.find(name);
    if (given == fields.end() || given->is_null() || *given == "") return;
    const T& value = request.*(field.member);
    SetField one{.name = name,
                 .option = std::string{field.option.substr(0, field.option.find(','))},
                 .member = name_in_cpp<T>(name),
                 .flag = std::same_as<T, bool>,
                 .typed = {},
                 .python = parts::python_of(numbers_in(value), *given),
                 .cpp = parts::cpp_of(name, value, *given),
                 .nameless = field.name.empty(),
                 .inside = field.inside,
                 .machine = std::same_as<T, Machine>};
    if constexpr (faces::is_list<T>)
      for (const Json& each : *given) one.typed.push_back(text_in(each, name));
    else if constexpr (parts::is_number<T>)
      one.typed.push_back(given->is_number() ? faces::as_typed(fmt::format("{}", given->template get<double>()), field.amount)
                                             : text_in(*given, name));
    else if constexpr (std::same_as<T, bool>) {
      static const Request defaults{};
      if (value == defaults.*(field.member)) return;
    } else
      one.typed.push_back(given->is_boolean() ? given->template get<bool>() ? "yes" : "no" : joined_text_in(*given, name));
    out.push_back(std::move(one));
  });
  return out;
}

}  // namespace fabricost::web
