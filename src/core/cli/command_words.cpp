/// \file command_words.cpp
/// Rewrites a command line by its words alone: values are read, and refused, by the command that answers.

#include "cli/command_words.hpp"

#include "cli/joined.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace fabricost::cli {
namespace {

using Words = std::vector<std::string>;

[[nodiscard]] bool is_one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

/// "--size" of "--size=1KiB".
[[nodiscard]] std::string_view option_of(std::string_view word) { return word.substr(0, word.find('=')); }

[[nodiscard]] Words::iterator found(Words& words, std::initializer_list<std::string_view> options) {
  return std::find_if(words.begin(), words.end(), [&](const std::string& word) { return is_one_of(option_of(word), options); });
}

/// Takes an option and its value out. \return the value; empty: none
[[nodiscard]] std::string taken(Words& words, std::initializer_list<std::string_view> options) {
  const auto at = found(words, options);
  if (at == words.end()) return {};
  const std::size_t equals = at->find('=');
  const auto value = equals == std::string::npos ? at + 1 : at;
  if (value == words.end()) return {};
  std::string out = value->substr(equals == std::string::npos ? 0 : equals + 1);
  words.erase(at, value + 1);
  return out;
}

/// Whether the option has a range or a list as its value.
[[nodiscard]] bool has_several(Words& words, std::initializer_list<std::string_view> options) {
  const auto at = found(words, options);
  if (at == words.end()) return false;
  const bool inside = at->find('=') != std::string::npos;
  if (!inside && at + 1 == words.end()) return false;
  const std::string_view value = inside ? std::string_view{*at}.substr(at->find('=') + 1) : std::string_view{*(at + 1)};
  return value.find_first_of(":,") != std::string_view::npos;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> earlier_names{
    {{"show", "machine"}, {"systems", "machine"}, {"models", "model"}}};

[[nodiscard]] Words predict_words(Words words) {
  if (const auto explain = found(words, {"--explain"}); explain != words.end()) {
    words.erase(explain);
    words.front() = "explain";
  } else if (has_several(words, {"--size"})) {
    words.front() = "sweep";
    found(words, {"--size"})->replace(0, std::string_view{"--size"}.size(), "--sizes");
  } else if (has_several(words, {"--nodes", "-n", "--ranks", "-r"})) {
    words.front() = "sweep";
  }
  return words;
}

[[nodiscard]] Words plan_words(Words words) {
  if (std::string unknown = taken(words, {"--find"}); !unknown.empty()) {
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
  for (const auto& [earlier, now] : earlier_names)
    for (std::size_t i = 0; i < words.size() && i < (words.front() == "help" ? 2 : 1); ++i)
      if (words[i] == earlier) words[i] = now;
  const std::string command = words.front();
  const std::string_view second = words.size() > 1 ? std::string_view{words[1]} : std::string_view{};
  if (is_one_of(command, {"plan", "compare", "need", "explore"}) && is_one_of(second, {"train", "serve", "rl"})) words[1].insert(0, "--");
  if (command == "predict") return predict_words(std::move(words));
  if (command == "plan") return plan_words(std::move(words));
  if (command == "compare") return compare_words(std::move(words));
  if (command == "cost" && second == "failures") {
    words.erase(words.begin());
    words.front() = "goodput";
  }
  return words;
}

}  // namespace fabricost::cli
