#pragma once
/// \file face.hpp
/// The command's face of any question: its options, what was typed as the fields' values, and answers as JSON, all from the tables of
/// fields.

#include "amounts.hpp"
#include "names.hpp"
#include "report.hpp"
#include "runner.hpp"

#include <fabricost/answers/cost.hpp>
#include <fabricost/answers/fields.hpp>
#include <fabricost/answers/named.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::cli {

/// "--gpus" of "--gpus,-g".
[[nodiscard]] std::string_view long_name(std::string_view option);
/// A whole number within the range. \throws RequestError
[[nodiscard]] int whole_of(const std::string& text, std::string_view option, const Range& range);
/// A number as its amount is typed, within the range. \throws RequestError
[[nodiscard]] double amount_of(const std::string& text, std::string_view option, Amount amount, const Range& range);

/// Each field as an option: "--step-time" for <step_seconds>, "--gpus 16384" for <gpus=16384>; a flag has no value.
template <HasFields Request>
[[nodiscard]] std::string as_option(std::string_view name, std::string_view value) {
  std::string out{name};
  for_each_field<Request>([&](const auto& field) {
    if (field.name != name || field.option.empty()) return;
    out = long_name(field.option);
    constexpr bool flag = std::same_as<typename std::remove_cvref_t<decltype(field)>::Value, bool>;
    if (!value.empty() && !flag) out += " " + std::string{value};
  });
  return out;
}

/// The fastest layout of what `fabricost plan --train --json` wrote. \throws RequestError naming the file for anything else
[[nodiscard]] PlannedRate read_planned_rate(const std::string& file);

/// One value from what was typed. Overloaded for the types a request may hold.
template <class E>
requires std::is_enum_v<E>
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, E& out) {
  const auto words = words_of(E{});
  const auto found = one_of<E>(text, words.names, words.what, option);
  if (found) out = *found;
}
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, std::string& out) { out = text; }
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, Machine& out) { out.name = text; }
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, NamedModel& out) { out.name = text; }
inline void from_text(const std::string& text, std::string_view, const Amount&, const Range&, PlannedRate& out) {
  out = read_planned_rate(text);
}
inline void from_text(const std::string& text, std::string_view option, const Amount&, const Range& range, int& out) {
  out = whole_of(text, option, range);
}
inline void from_text(const std::string& text, std::string_view option, const Amount& amount, const Range& range, double& out) {
  out = amount_of(text, option, amount, range);
}
template <class T>
void from_text(const std::string& text, std::string_view option, const Amount& amount, const Range& range, std::optional<T>& out) {
  from_text(text, option, amount, range, out.emplace());
}

/// What was typed for each option, until the command runs.
struct Typed {
  std::map<std::string_view, std::string> texts;
  std::map<std::string_view, bool> flags;
  std::map<std::string_view, std::vector<std::string>> lists;
};

template <HasFields Request>
void add_options(CLI::App& sub, Typed& typed) {
  for_each_field<Request>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    if (field.option.empty()) return;
    const std::string option{field.option}, words = with_fields(field.words, as_option<Request>);
    if constexpr (std::same_as<T, bool>)
      sub.add_flag(option, typed.flags[field.option], words);
    else if constexpr (std::same_as<T, std::vector<std::string>>)
      sub.add_option(option, typed.lists[field.option], words)->option_text(std::string{field.kind} + "...");
    else
      sub.add_option(option, typed.texts[field.option], words)->option_text(std::string{field.kind});
  });
}

/// \throws RequestError naming the option
template <HasFields Request>
[[nodiscard]] Request request_of(const Typed& typed) {
  Request out;
  for_each_field<Request>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    if (field.option.empty()) return;
    if constexpr (std::same_as<T, bool>) {
      out.*(field.member) = typed.flags.at(field.option);
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      out.*(field.member) = typed.lists.at(field.option);
    } else {
      const std::string& text = typed.texts.at(field.option);
      if (!text.empty()) from_text(text, long_name(field.option), field.amount, field.range, out.*(field.member));
    }
  });
  return out;
}

/// What a rule refuses, with options for its fields. \throws RequestError
template <HasFields Request, class Ask>
[[nodiscard]] auto spelled_out(Ask&& ask) {
  try {
    return ask();
  } catch (const Refusal& refusal) {
    throw RequestError(with_fields(refusal.text(), as_option<Request>));
  }
}

/// An answer as JSON: fields in the order of their table, "a.b" inside the object "a".
template <HasFields Answer>
[[nodiscard]] nlohmann::ordered_json json_of(const Answer& answer);

namespace detail {
using Json = nlohmann::ordered_json;

template <class T>
[[nodiscard]] Json json_value(const T& value, double unit) {
  if constexpr (HasFields<T>)
    return json_of(value);
  else if constexpr (std::same_as<T, double>)
    return unit == 1 ? Json(value) : Json(value / unit);
  else if constexpr (std::is_enum_v<T>)
    return Json(name(value));
  else if constexpr (requires {
                       typename T::value_type;
                       value.has_value();
                     })
    return value ? json_value(*value, unit) : Json(nullptr);
  else if constexpr (requires {
                       value.begin();
                       requires HasFields<typename T::value_type>;
                     }) {
    Json out = Json::array();
    for (const auto& each : value) out.push_back(json_of(each));
    return out;
  } else
    return Json(value);
}
template <class T>
[[nodiscard]] bool absent(const T& value) {
  if constexpr (requires { value.has_value(); })
    return !value.has_value();
  else if constexpr (requires { value.empty(); })
    return value.empty();
  else
    return false;
}
/// Objects that meet at one place become one.
void put(Json& into, std::string_view path, Json value);
}  // namespace detail

template <HasFields Answer>
nlohmann::ordered_json json_of(const Answer& answer) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for_each_field<Answer>([&](const auto& field) {
    const auto& value = answer.*(field.member);
    if (field.json.empty() || (field.left_out && detail::absent(value))) return;
    detail::put(out, field.json, detail::json_value(value, field.json_unit));
  });
  return out;
}

/// Adds a subcommand whose options are the request's fields and --json.
/// \param text_of the answer as text: std::string(const Answer&, const Terminal&)
template <HasFields Request, class Text>
void add_face(CLI::App& app, Runner& runner, const char* name, const char* words, const char* footer, Text text_of) {
  struct Options {
    Typed typed;
    bool json = false;
  };
  const auto o = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand(name, words);
  add_options<Request>(sub, o->typed);
  sub.add_flag("--json", o->json, "Print JSON");
  sub.footer(footer);
  runner.add(sub, [o, text_of](const Terminal& terminal) {
    const auto found = spelled_out<Request>([&] { return answer(request_of<Request>(o->typed)); });
    return o->json ? printed(json_of(found)) : text_of(found, terminal);
  });
}

}  // namespace fabricost::cli
