/// Rewrites a command line by its words alone: values are read, and refused, by the command that answers.

#include "cli/command_words.hpp"

#include "cli/runner.hpp"
#include "text/plain_text.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace fabricost::cli {
namespace {

using Words = std::vector<std::string>;

[[nodiscard]] bool is_one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

/// The first word that is one of the options, with its value behind it or behind an equals sign.
[[nodiscard]] Words::iterator found(Words& words, std::initializer_list<std::string_view> options) {
  return std::find_if(words.begin(), words.end(), [&](const std::string& word) { return is_one_of(std::string_view{word}.substr(0, word.find('=')), options); });
}

/// An option as it stands in the words: from its word to behind its value.
struct Option {
  Words::iterator begin, end;
  std::string_view value;
};
/// Nothing where the option or its value is missing.
[[nodiscard]] std::optional<Option> option_in(Words& words, std::initializer_list<std::string_view> options) {
  const auto at = found(words, options);
  if (at == words.end()) return {};
  if (const std::size_t equals = at->find('='); equals != std::string::npos) return Option{at, at + 1, std::string_view{*at}.substr(equals + 1)};
  if (at + 1 == words.end()) return {};
  return Option{at, at + 2, *(at + 1)};
}

/// Whether the option has a range or a list as its value.
[[nodiscard]] bool has_several(Words& words, std::initializer_list<std::string_view> options) {
  const auto option = option_in(words, options);
  return option && option->value.find_first_of(":,") != std::string_view::npos;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> earlier_names{
    {{"show", "machine"}, {"systems", "machine"}, {"models", "model"}}};

/// An exchange of experts, which predict alone answers: a list of its --tokens is a table there.
[[nodiscard]] bool exchanges_experts(const Words& words) {
  return words.size() > 1 && (words[1].starts_with("moe_") || words[1].starts_with("moe-"));
}

/// A range of sizes is --size of sweep, too, as of predict.
[[nodiscard]] Words sweep_words(Words words) {
  if (has_several(words, {"--size"})) found(words, {"--size"})->replace(0, std::string_view{"--size"}.size(), "--sizes");
  return words;
}

[[nodiscard]] Words predict_words(Words words) {
  if (const auto explain = found(words, {"--explain"}); explain != words.end()) {
    words.erase(explain);
    words.front() = "explain";
  } else if (exchanges_experts(words)) {
    words.front() = "predict";
  } else if (has_several(words, {"--size"})) {
    words.front() = "sweep";
    return sweep_words(std::move(words));
  } else if (has_several(words, {"--nodes", "-n", "--ranks", "--gpus"})) {
    words.front() = "sweep";
  }
  return words;
}

[[nodiscard]] Words plan_words(Words words) {
  if (found(words, {"--rl"}) != words.end()) return words;  // need and explore answer no such question
  if (const auto find = option_in(words, {"--find"}); find && !find->value.empty()) {
    std::string unknown{find->value};
    words.erase(find->begin, find->end);
    words.front() = "need";
    words.insert(words.begin() + 1, std::move(unknown));
  } else if (found(words, {"--vary"}) != words.end()) {
    words.front() = "explore";
  }
  return words;
}

[[nodiscard]] Words compare_words(Words words) {
  if (found(words, {"--tokens"}) == words.end()) return words;
  if (const auto training = found(words, {"--train"}); training != words.end()) words.erase(training);  // a run is always trained
  const auto end = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) { return word.starts_with("-"); });
  const std::string machines = joined(Words(words.begin() + 1, end), ",");
  words.erase(words.begin(), end);
  words.insert(words.begin(), "project");
  if (!machines.empty()) words.insert(words.begin() + 1, {"--system", machines});
  return words;
}

}  // namespace

Words as_commands(Words words) {
  if (words.empty()) return words;
  if (words.size() == 3 && words[0] == "help" && is_one_of(words[1], {"plan", "compare", "need", "explore"}) && is_one_of(words[2], {"train", "serve", "rl"}))
    return as_commands({words[1], words[2], "-h"});
  auto named = std::find_if(words.begin(), words.end(), [](const std::string& word) { return !word.starts_with("-"); });
  if (named != words.end() && *named == "help") ++named;
  for (const auto& [earlier, now] : earlier_names)
    if (named != words.end() && *named == earlier) *named = now;
  const std::string command = words.front();
  const std::string_view second = words.size() > 1 ? std::string_view{words[1]} : std::string_view{};
  if (is_one_of(command, {"plan", "compare", "need", "explore"}) && is_one_of(second, {"train", "serve", "rl"})) words[1].insert(0, "--");
  if (is_one_of(command, {"train", "serve", "rl"}) && found(words, {"-h", "--help", "--help-all"}) != words.end()) {
    words.front().insert(0, "--");
    words.insert(words.begin(), "plan");
  }
  if (command == "predict" || (command == "sweep" && exchanges_experts(words))) return predict_words(std::move(words));
  if (command == "sweep") return sweep_words(std::move(words));
  if (command == "plan") return plan_words(std::move(words));
  if (command == "compare") return compare_words(std::move(words));
  if (command == "cost" && second == "failures") {
    words.erase(words.begin());
    words.front() = "goodput";
  } else if (command == "cost" && is_one_of(second, {"hour", "run"})) {
    words.erase(words.begin() + 1);
  }
  return words;
}

std::string asked_command(const Words& words) {
  if (words.empty() || words.front().starts_with("-")) return {};
  for (const auto& [earlier, now] : earlier_names)
    if (words.front() == earlier) return std::string{now};
  return words.front();
}

Words& typed_words() {
  static Words words;
  return words;
}

std::string line_of(const Words& words) {
  std::string out = "fabricost";
  for (const std::string& word : words) out += " " + shell_word(word);
  return out;
}

}  // namespace fabricost::cli
