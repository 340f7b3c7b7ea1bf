/// \file systems.cpp
/// fabricost systems: the answer as text.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/systems.hpp>

namespace fabricost::cli {
namespace {

/// Titles end before column 100; `show` prints them whole.
[[nodiscard]] std::string shortened(const std::string& title) {
  constexpr std::size_t max = 44;
  if (shown_width(title) <= max) return title;
  const std::size_t blank = title.rfind(' ', max - 4);
  return title.substr(0, blank == std::string::npos ? max - 4 : blank) + " ...";
}

[[nodiscard]] std::string systems_text(const std::vector<ListedSystem>& systems, const Terminal& terminal) {
  const std::vector<TextTable::Column> columns{{"name"}, {"GPUs", right}, {"domain", right}, {"scale-up"}, {"machine"}};
  TextTable machines{columns}, clusters{columns};
  for (const ListedSystem& one : systems)
    (one.cluster ? clusters : machines)
        .row({one.name, std::to_string(one.gpus), std::to_string(one.domain), one.kind, shortened(one.title)});
  return terminal.strong("Machines") + "\n" + machines.text(2) + "\n" + terminal.strong("Clusters") + "\n" + clusters.text(2);
}

}  // namespace

void add_systems(CLI::App& app, Runner& runner) {
  add_face<SystemsRequest>(app, runner, "systems", "List the machines that have a name", "Example: fabricost systems", systems_text);
}

}  // namespace fabricost::cli
