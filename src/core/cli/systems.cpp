/// \file systems.cpp
/// fabricost systems: the answer as text.

#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/answers/systems.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace fabricost::cli {
namespace {

/// Titles end before column 100; `show` prints them whole.
[[nodiscard]] std::string shortened(const std::string& title) {
  constexpr std::size_t max = 44;
  if (shown_width(title) <= max) return title;
  const std::size_t blank = title.rfind(' ', max - 4);
  return title.substr(0, blank == std::string::npos ? max - 4 : blank) + " ...";
}

struct Maker {
  std::string_view vendor, title;
};

/// In the order of the groups; a vendor that is not here comes last, by the name it has in data/.
constexpr std::array<Maker, 7> makers{{{"nvidia", "NVIDIA"},
                                       {"amd", "AMD"},
                                       {"intel", "Intel"},
                                       {"google", "Google"},
                                       {"aws", "AWS"},
                                       {"huawei", "Huawei"},
                                       {"other", "other makers"}}};

[[nodiscard]] std::size_t rank_of(std::string_view vendor) {
  const auto found = std::find_if(makers.begin(), makers.end(), [&](const Maker& one) { return one.vendor == vendor; });
  return static_cast<std::size_t>(found - makers.begin());
}

/// Machines and clusters by the maker of their GPUs, one table each; inside a group by name.
void systems_text(Page& page, const std::vector<ListedSystem>& systems) {
  using Group = std::tuple<bool, std::size_t, std::string>;
  std::map<Group, TextTable> groups;
  for (const ListedSystem& one : systems) {
    const TextTable empty{"name", ">GPUs", ">domain", "scale-up", "machine"};
    groups.try_emplace({one.cluster, rank_of(one.vendor), one.vendor}, empty)
        .first->second.row(one.name, one.gpus, one.domain, one.kind, shortened(one.title));
  }
  for (const auto& [group, table] : groups) {
    const auto& [cluster, rank, vendor] = group;
    if (!page.text().empty()) page.add("\n");
    page.title("{} with GPUs of {}", cluster ? "Clusters" : "Machines", rank < makers.size() ? makers[rank].title : vendor);
    page.table(table);
  }
}

}  // namespace

void add_systems(CLI::App& app, Runner& runner) {
  add_question<SystemsRequest>(app, runner, "systems", "List built-in machines", "Example: fabricost systems", systems_text);
}

}  // namespace fabricost::cli
