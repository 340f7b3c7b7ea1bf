/// The causes that diagnose names, for `fabricost help CAUSE`: data/diagnosis/causes.yaml and what the rules advise.

#include "cli/help.hpp"

#include "diagnose/rules.hpp"
#include "specs/store.hpp"
#include "text/text_table.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string cause_text(std::string_view name) {
  constexpr std::size_t most = 6;  // pieces of advice: one screen
  const SpecNode words = SpecStore{}.resolve("diagnosis", "causes");
  const SpecNode* const causes = words.find("causes");
  const SpecNode* const cause = causes != nullptr ? causes->find(name) : nullptr;
  std::string out = fmt::format("{}\n\n", name);
  const auto add = [&](std::string_view title, std::string_view text) { out += wrapped(fmt::format("  {:<6}", title), text, 80); };
  if (cause != nullptr)
    for (const auto& [key, title] : {std::pair{"is", "what"}, std::pair{"sure", "sure"}})
      if (const SpecNode* text = cause->find(key)) add(title, text->text);
  std::set<std::string> advised;
  for (const observe::diagnosis::RuleFile& file : observe::diagnosis::load_rules().files)
    for (const std::vector<observe::diagnosis::Row>& group : file.groups)
      for (const observe::diagnosis::Row& row : group) {
        const bool is = row.cause && observe::name(*row.cause) == name;
        if (!is || row.remedy.empty() || row.remedy.find('{') != std::string::npos || advised.size() == most) continue;
        if (advised.insert(row.remedy).second) add(advised.size() == 1 ? "try" : "", row.remedy);
      }
  return out;
}

}  // namespace

HelpTopics cause_topics() { return {"CAUSES", observe::cause_names, cause_text}; }

}  // namespace fabricost::cli
