/// \file core_commands.cpp
/// Commands of the collective model.

#include "cli/subcommands.hpp"

namespace fabricost::cli {

void add_systems(CLI::App& app, Runner& runner);
void add_show(CLI::App& app, Runner& runner);
void add_predict(CLI::App& app, Runner& runner);
void add_explain(CLI::App& app, Runner& runner);
void add_sweep(CLI::App& app, Runner& runner);
void add_share(CLI::App& app, Runner& runner);
void add_transfer(CLI::App& app, Runner& runner);
void add_validate(CLI::App& app, Runner& runner);
void add_calibrate(CLI::App& app, Runner& runner);
void add_tune(CLI::App& app, Runner& runner);
void add_report(CLI::App& app, Runner& runner);
void add_completion(CLI::App& app, Runner& runner);

namespace {
constexpr std::array core_subcommands{
    Subcommand{"systems", add_systems},
    Subcommand{"show", add_show},
    Subcommand{"predict", add_predict},
    Subcommand{"explain", add_explain},
    Subcommand{"sweep", add_sweep},
    Subcommand{"share", add_share},
    Subcommand{"transfer", add_transfer},
    Subcommand{"validate", add_validate},
    Subcommand{"calibrate", add_calibrate},
    Subcommand{"tune", add_tune},
    Subcommand{"report", add_report},
    Subcommand{"completion", add_completion}};
}  // namespace

const Component core_commands{"core", core_subcommands};

}  // namespace fabricost::cli
