/// \file plan_commands.cpp
/// Commands that plan jobs, deployments and purchases.

#include "cli/calibrate_tables.hpp"
#include "cli/subcommands.hpp"

namespace fabricost::cli {

void add_models(CLI::App& app, Runner& runner);
void add_validate_tables(CLI::App& app, Runner& runner);
void add_plan(CLI::App& app, Runner& runner);
void add_compare(CLI::App& app, Runner& runner);
void add_need(CLI::App& app, Runner& runner);
void add_project(CLI::App& app, Runner& runner);
void add_explore(CLI::App& app, Runner& runner);
void add_pipeline(CLI::App& app, Runner& runner);
void add_goodput(CLI::App& app, Runner& runner);
void add_stragglers(CLI::App& app, Runner& runner);
void add_cost(CLI::App& app, Runner& runner);

namespace {
constexpr std::array plan_subcommands{
    Subcommand{"models", add_models},
    Subcommand{"validate", add_validate_tables},
    Subcommand{"plan", add_plan},
    Subcommand{"compare", add_compare},
    Subcommand{"need", add_need},
    Subcommand{"project", add_project},
    Subcommand{"explore", add_explore},
    Subcommand{"pipeline", add_pipeline},
    Subcommand{"goodput", add_goodput},
    Subcommand{"stragglers", add_stragglers},
    Subcommand{"cost", add_cost}};
}  // namespace

const Component plan_commands{"plan", plan_subcommands, [] { join_calibrate(calibrate_tables); }};

}  // namespace fabricost::cli
