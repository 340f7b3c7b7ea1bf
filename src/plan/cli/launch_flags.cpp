/// Reads data/launchers: a command, flags with a value, switches, and words for values of a field.

#include "cli/launch_flags.hpp"

#include "specs/reader.hpp"
#include "specs/store.hpp"
#include "text/joined.hpp"

#include <fabricost/request_error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace fabricost::plan {
namespace {

using Json = nlohmann::ordered_json;

/// "8" of tp; "4608" of isl+osl, "16" of tp*dp, "3" of layers/pp*vp: products before quotients, rounded up, before sums; 1 for a field that
/// is not there.
[[nodiscard]] long long number_of(std::string_view formula, const ValueOf& value_of) {
  if (const std::size_t sum = formula.find('+'); sum != std::string_view::npos)
    return number_of(formula.substr(0, sum), value_of) + number_of(formula.substr(sum + 1), value_of);
  if (const std::size_t quotient = formula.find('/'); quotient != std::string_view::npos) {
    const long long over = number_of(formula.substr(0, quotient), value_of), under = number_of(formula.substr(quotient + 1), value_of);
    return (over + under - 1) / std::max(1LL, under);
  }
  if (const std::size_t product = formula.find('*'); product != std::string_view::npos)
    return number_of(formula.substr(0, product), value_of) * number_of(formula.substr(product + 1), value_of);
  const Json value = value_of(std::string{formula});
  return value.is_number() ? static_cast<long long>(value.get<double>()) : 1;
}

/// A field's text as a command takes it: of a list the values with blanks between.
[[nodiscard]] std::string text_of(const Json& value) {
  if (value.is_null() || value.is_array()) return "";  // lists of an answer are texts with commas
  std::string out = value.is_string() ? value.get<std::string>() : value.dump();
  std::replace(out.begin(), out.end(), ',', ' ');
  return out;
}

/// The words with each {formula}, or {field} of one that is no whole number, replaced.
[[nodiscard]] std::string filled(std::string words, const ValueOf& value_of) {
  for (std::size_t at = words.find('{'), end = 0; at != std::string::npos; at = words.find('{', at)) {
    end = words.find('}', at);
    const std::string formula = words.substr(at + 1, end - at - 1);
    const Json value = value_of(formula);
    const std::string text = value.is_null() || value.is_number_integer() ? std::to_string(number_of(formula, value_of)) : text_of(value);
    words.replace(at, end - at + 1, text);
  }
  return words;
}

/// Calls add(key, value) for each entry of an optional map.
template <class Add>
void each(const SpecNode* map, const Add& add) {
  if (map != nullptr)
    for (const SpecNode::Entry& entry : map->entries) add(entry.key, entry.value);
}

}  // namespace

std::string launch_command(std::string_view program, std::string_view question, const ValueOf& value_of) {
  constexpr std::array<std::string_view, 2> questions{"train", "serve"};
  const std::vector<std::string> known = names_in("launchers");
  if (std::find(known.begin(), known.end(), program) == known.end())
    throw RequestError(fmt::format("--launch-flags: \"{}\" is no program whose flags are known; write one of {}",
                                   clipped(std::string{program}), joined(known)));
  const SpecNode tree = SpecStore{}.resolve("launchers", program);
  std::string of, out, title;
  const SpecNode *required = nullptr, *flags = nullptr, *switches = nullptr, *given = nullptr, *choices = nullptr;
  read_document(tree, [&](MapReader& in) {
    in.name("name", true);
    in.text("notes");
    of = in.one_of("question", questions, true);
    out = in.text("command", true);
    title = in.text("title", true);
    required = in.take("required"), flags = in.take("flags", true), switches = in.take("switches");
    given = in.take("given"), choices = in.take("choices");
  });
  if (of != question) throw RequestError(fmt::format("--launch-flags: {} is of plan {}", program, of));
  out = filled(std::move(out), value_of);
  each(required,
       [&](const std::string& flag, const SpecNode& formula) { out += fmt::format(" {} {}", flag, number_of(formula.text, value_of)); });
  each(flags, [&](const std::string& flag, const SpecNode& formula) {
    if (const long long number = number_of(formula.text, value_of); number > 1) out += fmt::format(" {} {}", flag, number);
  });
  each(switches, [&](const std::string& flag, const SpecNode& field) {
    if (const Json value = value_of(field.text); value.is_boolean() ? value.get<bool>() : number_of(field.text, value_of) > 1)
      out += " " + flag;
  });
  const auto add = [&](const SpecNode& words) {
    if (!words.text.empty()) out += " " + filled(words.text, value_of);
  };
  each(given, [&](const std::string& field, const SpecNode& words) {
    if (const Json is = value_of(field); is.is_boolean() ? is.get<bool>() : !text_of(is).empty() && is != 0) add(words);
  });
  each(choices, [&](const std::string& field, const SpecNode& words) {
    const std::string is = text_of(value_of(field));
    if (const SpecNode* chosen = words.find(is)) return add(*chosen);
    if (const SpecNode* others = words.find("others"); others != nullptr && !is.empty())
      throw RequestError(fmt::format("--launch-flags: {} has no flags for {} {}: {}", title, field, is, others->text));
  });
  return out;
}

}  // namespace fabricost::plan
