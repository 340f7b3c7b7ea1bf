/// Reads data/launchers: a command, flags with a value, switches, and words for one of several values.

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

/// "8" of tp; "4608" of isl+osl, "16" of tp*dp: products before sums; 1 for a field that is not there.
[[nodiscard]] long long number_of(std::string_view formula, const ValueOf& value_of) {
  if (const std::size_t sum = formula.find('+'); sum != std::string_view::npos)
    return number_of(formula.substr(0, sum), value_of) + number_of(formula.substr(sum + 1), value_of);
  if (const std::size_t product = formula.find('*'); product != std::string_view::npos)
    return number_of(formula.substr(0, product), value_of) * number_of(formula.substr(product + 1), value_of);
  const Json value = value_of(std::string{formula});
  return value.is_number() ? static_cast<long long>(value.get<double>()) : 1;
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
  std::string of, out;
  const SpecNode *flags = nullptr, *switches = nullptr, *choices = nullptr;
  read_document(tree, [&](MapReader& in) {
    in.name("name", true);
    in.text("title", true);
    in.text("notes");
    of = in.one_of("question", questions, true);
    out = in.text("command", true);
    flags = in.take("flags", true), switches = in.take("switches"), choices = in.take("choices");
  });
  if (of != question) throw RequestError(fmt::format("--launch-flags: {} is of plan {}", program, of));
  if (const std::size_t at = out.find("{model}"); at != std::string::npos) out.replace(at, 7, value_of("model").get<std::string>());
  each(flags, [&](const std::string& flag, const SpecNode& formula) {
    if (const long long number = number_of(formula.text, value_of); number > 1) out += fmt::format(" {} {}", flag, number);
  });
  each(switches, [&](const std::string& flag, const SpecNode& field) {
    if (const Json value = value_of(field.text); value.is_boolean() ? value.get<bool>() : number_of(field.text, value_of) > 1) out += " " + flag;
  });
  each(choices, [&](const std::string& field, const SpecNode& words) {
    const Json is = value_of(field);
    each(&words, [&](const std::string& value, const SpecNode& text) {
      if (value == (is.is_string() ? is.get<std::string>() : is.dump())) out += " " + text.text;
    });
  });
  return out;
}

}  // namespace fabricost::plan
