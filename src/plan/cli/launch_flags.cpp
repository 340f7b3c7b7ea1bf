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

/// The words with each {formula}, or {field} of one that is no whole number, replaced; {{ and }} are braces.
[[nodiscard]] std::string filled(const std::string& words, const ValueOf& value_of) {
  std::string out;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const bool brace = words[at] == '{' || words[at] == '}';
    if (brace && at + 1 < words.size() && words[at + 1] == words[at]) ++at;
    else if (words[at] == '{') {
      const std::size_t end = words.find('}', at);
      const std::string formula = words.substr(at + 1, end - at - 1);
      const Json value = value_of(formula);
      out += value.is_null() || value.is_number_integer() ? std::to_string(number_of(formula, value_of)) : text_of(value);
      at = end;
      continue;
    }
    out += words[at];
  }
  return out;
}

/// Calls add(key, value) for each entry of an optional map.
template <class Add>
void each(const SpecNode* map, const Add& add) {
  if (map != nullptr)
    for (const SpecNode::Entry& entry : map->entries) add(entry.key, entry.value);
}

[[nodiscard]] bool is_set(const Json& value) {
  return value.is_boolean() ? value.get<bool>() : !text_of(value).empty() && value != 0;
}

/// A file of data/launchers.
struct Launcher {
  SpecNode tree;
  std::string of, command, title, adds, stack, library, options_flag;
  std::vector<std::string> stacks, other_stacks;
  const SpecNode *required = nullptr, *flags = nullptr, *switches = nullptr, *given = nullptr, *choices = nullptr, *refused = nullptr,
                 *assumed = nullptr, *options = nullptr, *by_hand = nullptr;
};

void read(Launcher& out, std::string_view program) {
  constexpr std::array<std::string_view, 2> questions{"train", "serve"};
  const std::vector<std::string> known = names_in("launchers");
  if (std::find(known.begin(), known.end(), program) == known.end())
    throw RequestError(fmt::format("--launch-flags: \"{}\" is no program whose flags are known; write one of {}",
                                   clipped(std::string{program}), joined(known)));
  out.tree = SpecStore{}.resolve("launchers", program);
  read_document(out.tree, [&](MapReader& in) {
    in.name("name", true);
    in.text("notes");
    out.of = in.one_of("question", questions, true);
    out.command = in.text("command", true);
    out.title = in.text("title", true);
    out.adds = in.text("adds");
    out.stack = in.text("stack");
    out.library = in.text("library");
    out.options_flag = in.text("options_flag"), out.options = in.take("options"), out.by_hand = in.take("by_hand");
    out.stacks = in.plain_texts("stacks");
    out.other_stacks = in.plain_texts("other_stacks");
    out.required = in.take("required"), out.flags = in.take("flags", true), out.switches = in.take("switches");
    out.given = in.take("given"), out.choices = in.take("choices"), out.refused = in.take("refused"), out.assumed = in.take("assumed");
  });
}

}  // namespace

LaunchCommand launch_of(std::string_view program, std::string_view question, const ValueOf& value_of) {
  Launcher file;
  read(file, program);
  if (file.of != question) throw RequestError(fmt::format("--launch-flags: {} is of plan {}", program, file.of));
  if (const std::string engine = text_of(value_of("library")); !file.library.empty() && !engine.empty() && engine != file.library)
    throw RequestError(fmt::format("--launch-flags: the plan is of {0}, whose layouts are not {1}'s; add --stack {1}, or write --launch-flags {0}",
                                   engine, program));
  const auto refuse = [&](std::string_view what, const SpecNode& why) {
    throw RequestError(fmt::format("--launch-flags: {} has no flags for {}: {}", file.title, what, filled(why.text, value_of)));
  };
  each(file.refused, [&](const std::string& field, const SpecNode& why) {
    if (is_set(value_of(field))) refuse(field, why);
  });
  std::string out = filled(file.command, value_of);
  each(file.required,
       [&](const std::string& flag, const SpecNode& formula) { out += fmt::format(" {} {}", flag, number_of(formula.text, value_of)); });
  each(file.flags, [&](const std::string& flag, const SpecNode& formula) {
    if (const long long number = number_of(formula.text, value_of); number > 1) out += fmt::format(" {} {}", flag, number);
  });
  each(file.switches, [&](const std::string& flag, const SpecNode& field) {
    if (const Json value = value_of(field.text); value.is_boolean() ? value.get<bool>() : number_of(field.text, value_of) > 1)
      out += " " + flag;
  });
  const auto add = [&](const SpecNode& words) {
    if (!words.text.empty()) out += " " + filled(words.text, value_of);
  };
  each(file.given, [&](const std::string& field, const SpecNode& words) {
    if (is_set(value_of(field))) add(words);
  });
  std::string options;
  std::vector<std::string> by_hand;
  each(file.options, [&](const std::string& field, const SpecNode& words) {
    if (is_set(value_of(field)) && !words.text.empty()) options += (options.empty() ? "" : ", ") + filled(words.text, value_of);
  });
  if (!options.empty()) {
    out += " " + file.options_flag;
    by_hand.push_back(fmt::format("{} holds {{{}}}", file.options_flag.substr(file.options_flag.rfind(' ') + 1), options));
  }
  each(file.by_hand, [&](const std::string& field, const SpecNode& words) {
    if (is_set(value_of(field)) && !words.text.empty()) by_hand.push_back(filled(words.text, value_of));
  });
  each(file.choices, [&](const std::string& field, const SpecNode& words) {
    const std::string is = text_of(value_of(field));
    if (const SpecNode* chosen = words.find(is)) return add(*chosen);
    if (const SpecNode* others = words.find("others"); others != nullptr && !is.empty()) refuse(fmt::format("{} {}", field, is), *others);
  });
  std::vector<std::string> assumed, notes;
  each(file.assumed, [&](const std::string& field, const SpecNode& words) {
    if (is_set(value_of(field))) assumed.push_back(filled(words.text, value_of));
  });
  if (!file.adds.empty()) notes.push_back(filled(file.adds, value_of));
  if (!assumed.empty()) notes.push_back(fmt::format("The step also assumes what no flag here says: {}.", joined(assumed, "; ")));
  return {out, by_hand, notes};
}

std::string stack_to_launch(std::string_view program, const std::string& named, const std::string& usual) {
  Launcher file;
  read(file, program);
  const auto is_of = [&](const std::string& stack) {
    std::vector<std::string> chain;
    (void)SpecStore{}.resolve("stacks", stack, &chain);
    const auto among = [&](const std::vector<std::string>& names) {
      return std::any_of(names.begin(), names.end(), [&](const std::string& one) { return std::find(chain.begin(), chain.end(), one) != chain.end(); });
    };
    return among(file.stacks) && !among(file.other_stacks);
  };
  if (file.stack.empty()) return named;
  if (named.empty()) return is_of(usual) ? usual : file.stack;
  if (!is_of(named))
    throw RequestError(fmt::format("--launch-flags: {} does not run stack {}; take --stack {}", file.title, named, file.stack));
  return named;
}

}  // namespace fabricost::plan
