/// \file code.cpp
/// Lines of code to copy, from the fields that are set.

#include "web/code.hpp"

#include <algorithm>
#include <cctype>

namespace fabricost::web {

std::string shell_quoted(const std::string& text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,+%@";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string{"\\n"} : std::string{c};
  }
  return out + "\"";
}

std::vector<std::string> parts::names_in(const Json& given) {
  const std::string all = joined_text_in(given, {});
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(',', at), all.size());
    out.push_back(all.substr(at, end - at));
    at = end + 1;
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
        options += fmt::format(" {} {}", field.option, shell_quoted(text));
      else
        by_place += " " + shell_quoted(text);
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
  std::string out = fmt::format("#include <fabricost/fabricost.hpp>\n\nint main() {{\n  fabricost::{} request;\n", record);
  for (const SetField& field : fields) out += fmt::format("  request.{}{};\n", field.member, field.cpp);
  return out + "  const auto found = fabricost::answer(request);\n}\n";
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
