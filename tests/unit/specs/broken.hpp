#pragma once
/// A table of broken documents: the place of the fault and the required message.

#include "files.hpp"

#include "catch.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace specs {

/// One broken document. A '^' in `text` is removed from the file and marks the value that the message must
/// point to.
struct Broken {
  std::string title;
  Document kind;
  std::string text;
  std::vector<std::string> says;
};

/// The whole system with one part of it exchanged.
inline Broken sys(std::string title, std::string_view find, std::string_view by, std::vector<std::string> says) {
  return {std::move(title), Document::system, replaced(good_system, find, by), std::move(says)};
}

struct Marked {
  std::string text;
  std::optional<std::pair<int, int>> place;  ///< line and column
};

inline Marked marked(std::string text) {
  Marked out;
  const auto at = text.find('^');
  if (at != std::string::npos) {
    const std::string before = text.substr(0, at);
    const auto line_start = before.rfind('\n');
    out.place = {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
                 static_cast<int>(line_start == std::string::npos ? at + 1 : at - line_start)};
    text.erase(at, 1);
  }
  out.text = std::move(text);
  return out;
}

inline void check(const std::vector<Broken>& table) {
  const Folder folder;
  for (const Broken& broken : table) {
    INFO(broken.title);
    const Marked document = marked(broken.text);
    const std::string file = folder.write("broken.yaml", document.text);
    const Outcome outcome = outcome_of([&] { load(broken.kind, file); });
    INFO(outcome.text.substr(0, 2000));
    CHECK(outcome.refused());
    CHECK(outcome.seconds < 1);
    CHECK(outcome.text.size() < 100'000);
    CHECK(outcome.says(file));
    if (document.place)
      CHECK(outcome.says(file + ":" + std::to_string(document.place->first) + ":" + std::to_string(document.place->second) + ": "));
    for (const std::string& words : broken.says) {
      INFO("expected: " << words);
      CHECK(outcome.says(words));
    }
  }
}

}  // namespace specs
