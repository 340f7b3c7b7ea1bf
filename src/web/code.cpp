/// Lines of code to copy, from the fields that are set.

#include "web/code.hpp"

#include "text/joined.hpp"
#include "text/plain_text.hpp"

#include <fabricost/plan/answers/share.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/stragglers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace fabricost::web {

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string{"\\n"} : std::string{c};
  }
  return out + "\"";
}

namespace {

/// Names as a list, given as one or with commas between.
[[nodiscard]] std::vector<std::string> names_in(const Json& given) {
  const std::string all = joined_text_in(given, {});
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(',', at), all.size());
    out.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

template <class Each>
[[nodiscard]] std::vector<std::string> each_of(const Json& given, const Each& each) {
  std::vector<std::string> out;
  for (const Json& one : given) out.push_back(each(text_in(one, {})));
  return out;
}

/// A number as it is, without a unit; a whole one without a fraction.
[[nodiscard]] std::string number_text(const ValueType& type, const void* value) { return fmt::format("{}", type.number(value)); }
[[nodiscard]] std::vector<std::string> numbers_text(const ValueType& list, const void* value) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.count(value); ++i) out.push_back(number_text(*list.inner, list.at(value, i)));
  return out;
}
[[nodiscard]] std::vector<std::string> slow_text(const void* value, std::string_view form) {
  std::vector<std::string> out;
  for (const SlowKind& one : *static_cast<const std::vector<SlowKind>*>(value))
    out.push_back(fmt::format(fmt::runtime(form), one.share, one.factor));
  return out;
}

[[nodiscard]] std::string python_of(const ValueType& type, const void* value, const Json& given) {
  if (type.kind == ValueKind::optional) return type.count(value) > 0 ? python_of(*type.inner, type.at(value, 0), given) : "None";
  if (type.kind == ValueKind::flag) return type.number(value) != 0 ? "True" : "False";
  if (is_number(type)) return number_text(type, value);
  if (type.kind == ValueKind::word) return literal(type.words[static_cast<std::size_t>(type.number(value))]);
  if (is<Counts>(type)) {
    const auto& counts = static_cast<const Counts*>(value)->values;
    return counts.size() == 1 ? fmt::format("{}", counts.front()) : fmt::format("[{}]", joined(counts));
  }
  if (is<Machines>(type)) {
    std::vector<std::string> names = names_in(given);
    for (std::string& name : names) name = literal(name);
    return "[" + joined(names) + "]";
  }
  if (is<std::vector<SlowKind>>(type)) return "[" + joined(slow_text(value, "({}, {})")) + "]";
  if (type.kind == ValueKind::list && type.inner->kind == ValueKind::number) return "[" + joined(numbers_text(type, value)) + "]";
  if (type.kind == ValueKind::list) return "[" + joined(each_of(given, literal)) + "]";
  return literal(joined_text_in(given, {}));
}

/// The unit in which C++ writes the number of a quantity.
[[nodiscard]] std::string_view unit_in_cpp(const ValueType& type) {
  return is<Time>(type) ? "s" : is<Bytes>(type) ? "B" : is<Bandwidth>(type) ? "B_per_s" : "USD";
}

/// The text after `request.MEMBER`; empty where none is short enough.
[[nodiscard]] std::string cpp_of(const std::string& name, const ValueType& field, const void* value, const Json& given) {
  const ValueType& type = field.bare();
  const bool optional = &type != &field;
  const std::string python = python_of(field, value, given);
  const auto in_braces = [&](std::string_view form) {
    return joined(each_of(given, [&](const std::string& text) { return fmt::format(fmt::runtime(form), literal(text)); }));
  };
  if (type.kind == ValueKind::flag) return python == "True" ? " = true" : " = false";
  if (is_number(type)) return type.quantity ? fmt::format(" = fabricost::units::{}({})", unit_in_cpp(type), python) : " = " + python;
  if (type.kind == ValueKind::word)
    return optional ? fmt::format(" = fabricost::worded<decltype(request.{})::value_type>({})", name, python)
                    : fmt::format(" = *fabricost::worded<decltype(request.{})>({})", name, python);
  if (is<Counts>(field)) return fmt::format(".values = {{{}}}", joined(static_cast<const Counts*>(value)->values));
  if (optional && is<std::vector<Bytes>>(type)) {
    std::vector<std::string> sizes = numbers_text(type, field.at(value, 0));
    for (std::string& size : sizes) size = fmt::format("fabricost::units::B({})", size);
    return fmt::format(".emplace({{{}}})", joined(sizes));
  }
  if (is<Machines>(field)) {
    std::vector<std::string> names = names_in(given);
    for (std::string& one : names) one = literal(one);
    return fmt::format(".all = {{{}}}", joined(names));
  }
  if (is<std::vector<Machine>>(field) || is<std::vector<Sample>>(field)) return fmt::format(" = {{{}}}", in_braces("{{{}}}"));
  if (is<LayoutAxes>(field)) return fmt::format(" = fabricost::layout_from({}, {})", python, literal(name));
  if (is<std::vector<GroupedRequest>>(field)) return fmt::format(" = {{{}}}", in_braces("fabricost::grouped_from({})"));
  if (is<std::vector<SlowKind>>(field)) return fmt::format(" = {{{}}}", joined(slow_text(value, "{{{}, {}}}")));
  if (is<Inference>(type)) return fmt::format(" = fabricost::engine_named({}, {})", python, literal(name));
  if (is<Routing>(type)) return fmt::format(" = fabricost::routing_named({}, {})", python, literal(name));
  if (field.kind != ValueKind::list) return " = " + python;
  const ValueKind one = field.inner->kind;
  if (one != ValueKind::text && one != ValueKind::number && one != ValueKind::whole && one != ValueKind::word) return {};
  return " = {" + python.substr(1, python.size() - 2) + "}";
}

/// The member of C++ behind a name of Python: `step` of step_seconds, where the member holds a quantity; else the name.
[[nodiscard]] std::string member_of(const ValueType& field, const std::string& name) {
  const ValueType& type = field.bare();
  const bool quantity = type.quantity || (type.kind == ValueKind::list && type.inner->quantity);
  return quantity ? name_in_cpp(name) : name;
}

}  // namespace

std::vector<SetField> set_fields(const Json& given, std::span<const Field> fields, const void* request, const void* defaults) {
  std::vector<SetField> out;
  for (const Field& field : fields) {
    const std::string name = name_of(field.name, field.option);
    const auto found = given.find(name);
    if (found == given.end() || found->is_null() || *found == "") continue;
    const Json& one_given = *found;
    const ValueType& type = *field.type;
    const void* const value = field.in(request);
    SetField one{.name = name,
                 .option = std::string{field.option.substr(0, field.option.find(','))},
                 .member = member_of(type, name),
                 .flag = type.kind == ValueKind::flag,
                 .typed = {},
                 .python = python_of(type, value, one_given),
                 .cpp = cpp_of(name, type, value, one_given),
                 .nameless = field.name.empty(),
                 .inside = field.inside,
                 .machine = is<Machine>(type)};
    if (one.flag && type.number(value) == type.number(field.in(defaults))) continue;
    if (type.kind == ValueKind::list)
      for (const Json& each : one_given) one.typed.push_back(text_in(each, name));
    else if (is_number(type))
      one.typed.push_back(one_given.is_number() ? as_typed(fmt::format("{}", one_given.get<double>()), field.amount)
                                                : text_in(one_given, name));
    else if (!one.flag)
      one.typed.push_back(one_given.is_boolean() ? one_given.get<bool>() ? "yes" : "no" : joined_text_in(one_given, name));
    out.push_back(std::move(one));
  }
  return out;
}

namespace {

[[nodiscard]] std::string command_line(const std::vector<SetField>& fields, std::string_view command) {
  std::string by_place, options;
  for (const SetField& field : fields) {
    if (field.option.empty()) continue;
    if (field.flag) {
      options += " " + field.option;
      continue;
    }
    for (const std::string& text : field.typed)
      if (field.option.starts_with('-'))
        options += fmt::format(" {} {}", field.option, shell_word(text));
      else
        by_place += " " + shell_word(text);
  }
  const std::size_t flags = std::min(command.find(" --"), command.size());
  return fmt::format("{}{}{}{}", command.substr(0, flags), by_place, command.substr(flags), options);
}

/// "AllReduce" of "\"all_reduce\"".
[[nodiscard]] std::string class_of(std::string_view operation) {
  std::string out;
  bool large = true;
  for (const char c : operation) {
    if (c == '_')
      large = true;
    else if (c != '"')
      out += large ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c, large = false;
  }
  return out;
}

[[nodiscard]] std::string python_call(const std::vector<SetField>& fields, std::string_view function) {
  std::string system = "None", loaded, inside, rest, operation;
  for (const SetField& field : fields) {
    if (field.machine && field.name == "system")
      system = field.python;
    else if (field.nameless && (field.name == "overrides" || field.name == "calibration"))
      loaded += fmt::format(", {}={}", field.name, field.python);
    else if (field.name == "operation" && field.inside)
      operation = class_of(field.python);
    else if (field.inside || (!operation.empty() && (field.name == "nodes" || field.name == "ranks" || field.name == "sizes")))
      inside += fmt::format("{}{}={}", inside.empty() ? "" : ", ", field.name == "sizes" ? "bytes" : field.name, field.python);
    else if (!field.nameless)
      rest += fmt::format(", {}={}", field.name, field.python);
  }
  std::string out = "import fabricost as fc\n\n";
  const bool has_system = system != "None";
  if (has_system) out += fmt::format("system = fc.load_system({}{})\n", system, loaded);
  std::string arguments = has_system ? operation.empty() ? "system=system" : "system" : "";
  if (!operation.empty()) arguments += fmt::format("{}fc.{}({})", arguments.empty() ? "" : ", ", operation, inside);
  if (arguments.empty() && !rest.empty()) rest.erase(0, 2);
  return out + fmt::format("print(fc.{}({}{}))\n", function, arguments, rest);
}

[[nodiscard]] std::string cpp_program(const std::vector<SetField>& fields, std::string_view record) {
  std::string out = fmt::format(
      "#include <fabricost/fabricost.hpp>  // and the header of {0}: docs/reference/cpp-names.txt\n\n"
      "using namespace fabricost;\nusing namespace fabricost::core;\nusing namespace fabricost::plan;\nusing namespace fabricost::observe;\n\n"
      "int main() {{\n  {0} request;\n",
      record);
  for (const SetField& field : fields) out += fmt::format("  request.{}{};\n", field.member, field.cpp);
  return out + "  const auto found = answer(request);\n}\n";
}

}  // namespace

Json code_of(const std::vector<SetField>& fields, std::string_view command, std::string_view python, std::string_view record) {
  Json out = Json::object();
  if (!command.empty()) out["command"] = command_line(fields, command);
  if (!python.empty()) out["python"] = python_call(fields, python);
  const bool in_cpp = std::none_of(fields.begin(), fields.end(), [](const SetField& field) { return field.cpp.empty(); });
  if (!record.empty() && in_cpp) out["cpp"] = cpp_program(fields, record);
  return out;
}

}  // namespace fabricost::web
