/// \file systems.cpp
/// fabricost systems: every machine that has a name.

#include "specs/store.hpp"
#include "text/text_table.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/specs/load.hpp>

#include <nlohmann/json.hpp>

#include <memory>

namespace fabricost::cli {
namespace {

[[nodiscard]] std::string kind_of(const System& system) {
  const Tier* tier = system.tier(TierRole::scale_up);
  return tier != nullptr ? std::string{name(tier->kind)} : std::string{"none"};
}

/// Titles end before column 100; `show` prints them whole.
[[nodiscard]] std::string shortened(const std::string& title) {
  constexpr std::size_t most = 44;
  if (shown_width(title) <= most) return title;
  const std::size_t blank = title.rfind(' ', most - 4);
  return title.substr(0, blank == std::string::npos ? most - 4 : blank) + " ...";
}

}  // namespace

void add_systems(CLI::App& app, Runner& runner) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App& sub = *app.add_subcommand("systems", "List the machines that have a name");
  sub.add_flag("--json", *as_json, "Print JSON");
  sub.footer("Example: fabricost systems");
  runner.add(sub, [as_json](const Terminal& terminal) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    const std::vector<TextTable::Column> columns{{"name"}, {"GPUs", right}, {"domain", right}, {"scale-up"}, {"machine"}};
    TextTable machines{columns}, clusters{columns};
    io::SpecStore library;
    for (const SystemName& one : system_names()) {
      const System system = io::load_uncalibrated(library, one.name);
      json.push_back({{"name", system.name}, {"gpus", system.gpus()}, {"domain", system.domain}, {"kind", kind_of(system)}});
      (one.cluster ? clusters : machines)
          .row({system.name, std::to_string(system.gpus()), std::to_string(system.domain), kind_of(system), shortened(system.title)});
    }
    if (*as_json) return printed(json);
    return terminal.strong("Machines") + "\n" + machines.text(2) + "\n" + terminal.strong("Clusters") + "\n" + clusters.text(2);
  });
}

}  // namespace fabricost::cli
