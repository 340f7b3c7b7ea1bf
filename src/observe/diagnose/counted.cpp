/// \file counted.cpp
/// A rule's weight is the share of labelled cases in which it was right, where the weight as written counts like some cases more:
/// (right + n w) / (right + wrong + n), n `cases_of_a_weight` of comparison.yaml.

#include "diagnose/counted.hpp"
#include "specs/near_or_all.hpp"

#include "text/csv.hpp"

#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <map>

namespace fabricost::observe::diagnosis {

void weigh_by_cases(Rules& rules, std::span<const SpecNode> trees, Faults& faults) {
  std::map<std::string, std::vector<Row*>, std::less<>> known;  // settings of one variable and cause share a name
  for (RuleFile& file : rules.files) {
    for (auto& group : file.groups)
      for (Row& row : group) known[row.id].push_back(&row);
    for (SettingRow& one : file.settings) known[one.row.id].push_back(&one.row);
  }
  const Numbers& judgement = rules.numbers.find("judgement")->second;
  const double written = judgement.get("cases_of_a_weight", 0);  // where it is missing, that is a fault already
  for (const SpecNode& tree : trees) {
    const SpecNode* list = tree.find("counted");
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      MapReader in(list->items[i], fmt::format("counted[{}]", i), faults);
      const std::string name = in.text("rule", true);
      constexpr int most = 1000000;
      const double right = in.count("right", 0, 0, most), wrong = in.count("wrong", 0, 0, most);
      in.finish();
      const auto found = known.find(name);
      if (found == known.end()) {
        std::vector<std::string> names;
        for (const auto& [id, rows] : known) names.push_back(id);
        in.fault(list->items[i], "rule", fmt::format("\"{}\" is no rule", clipped(name)),
                 nearest_or(name, names, "write the name of one, as the answer's `rule` says it"));
        continue;
      }
      for (Row* row : found->second)
        if (right + wrong + written > 0) row->weight = (right + written * row->weight) / (right + wrong + written);
    }
  }
}

}  // namespace fabricost::observe::diagnosis
