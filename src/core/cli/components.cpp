/// The command of this build: FABRICOST_WITH_PLAN and the like are set by its CMakeLists.

#include "cli/calibrate.hpp"
#include "cli/help.hpp"
#include "cli/subcommands.hpp"

#include <fmt/format.h>

#include <array>

namespace fabricost::cli {

/// In the order of help, by component. PLAN(cost) stands for add_cost of plan, FIRST for those of core that answer before the rest is built.
#define FABRICOST_SUBCOMMANDS(FIRST, CORE, PLAN, OBSERVE, PROBES)                                                                      \
  FIRST(predict) FIRST(explain) CORE(sweep) PLAN(share) PLAN(transfer) FIRST(machine) PLAN(model) PROBES(measure) CORE(calibrate)        \
  FIRST(validate) PLAN(plan) PLAN(compare) PLAN(need) PLAN(project) PLAN(explore) PLAN(tune) OBSERVE(diagnose) OBSERVE(trace)            \
  OBSERVE(topo) PLAN(pipeline) PLAN(goodput) PLAN(stragglers) PLAN(cost) FIRST(report) FIRST(export) FIRST(exporter) FIRST(completion)   \
  FIRST(help)

#define FABRICOST_DECLARE(name) void add_##name(CLI::App& app, Runner& runner);
FABRICOST_SUBCOMMANDS(FABRICOST_DECLARE, FABRICOST_DECLARE, FABRICOST_DECLARE, FABRICOST_DECLARE, FABRICOST_DECLARE)
FABRICOST_DECLARE(validate_points)
FABRICOST_DECLARE(validate_tables)
#undef FABRICOST_DECLARE

/// Of points, and of tables of published results where plan reads them.
void add_validate(CLI::App& app, Runner& runner) {
#ifdef FABRICOST_WITH_PLAN
  add_validate_tables(app, runner);
#else
  add_validate_points(app, runner);
#endif
}

#ifdef FABRICOST_WITH_CORE
std::span<const CalibrateJob> calibrate_jobs() {
  static constexpr auto jobs = std::to_array<CalibrateJob>({
#ifdef FABRICOST_WITH_PROBES
      calibrate_machine_files,
#endif
#ifdef FABRICOST_WITH_PLAN
      calibrate_tables,
#endif
      calibrate_points});
  return jobs;
}
#endif

std::span<const HelpTopics> help_topics() {
  static const std::array all{core_topics(), word_topics(),
#ifdef FABRICOST_WITH_OBSERVE
                              cause_topics(),
#endif
  };
  return all;
}

std::span<const Subcommand> subcommands() {
#define FABRICOST_FIRST(name) Subcommand{#name, "core", add_##name},
#ifdef FABRICOST_WITH_CORE
#define FABRICOST_CORE(name) Subcommand{#name, "core", add_##name},
#else
#define FABRICOST_CORE(name) Subcommand{#name, "core", nullptr},
#endif
#ifdef FABRICOST_WITH_PLAN
#define FABRICOST_PLAN(name) Subcommand{#name, "plan", add_##name},
#else
#define FABRICOST_PLAN(name) Subcommand{#name, "plan", nullptr},
#endif
#ifdef FABRICOST_WITH_OBSERVE
#define FABRICOST_OBSERVE(name) Subcommand{#name, "observe", add_##name},
#else
#define FABRICOST_OBSERVE(name) Subcommand{#name, "observe", nullptr},
#endif
#ifdef FABRICOST_WITH_PROBES
#define FABRICOST_PROBES(name) Subcommand{#name, "probes", add_##name},
#else
#define FABRICOST_PROBES(name) Subcommand{#name, "probes", nullptr},
#endif
  static constexpr std::array all{FABRICOST_SUBCOMMANDS(FABRICOST_FIRST, FABRICOST_CORE, FABRICOST_PLAN, FABRICOST_OBSERVE, FABRICOST_PROBES)};
  return all;
}

std::string left_out_text(std::string_view command) {
  for (const Subcommand& one : subcommands())
    if (one.name == command && one.add == nullptr)
      return fmt::format("{0} is of the component {1}, which this build leaves out; configure with -DFABRICOST_COMPONENTS={1} to have it", command,
                         one.component);
  return {};
}

std::string left_out_help() {
  std::string out;
  for (const std::string_view component : {"core", "plan", "observe", "probes"}) {
    std::string names;
    for (const Subcommand& one : subcommands())
      if (one.component == component && one.add == nullptr) names += fmt::format(" {}", one.name);
    if (!names.empty()) out += fmt::format("\nNot in this build, with -DFABRICOST_COMPONENTS={}:{}", component, names);
  }
  return out;
}

}  // namespace fabricost::cli
