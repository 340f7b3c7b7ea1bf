/// \file probes_commands.cpp
/// Commands that measure this machine.

#include "cli/calibrate_machine.hpp"
#include "cli/subcommands.hpp"

namespace fabricost::cli {

void add_measure(CLI::App& app, Runner& runner);

namespace {
constexpr std::array probes_subcommands{
    Subcommand{"measure", add_measure}};
}  // namespace

const Component probes_commands{"probes", probes_subcommands, [] { join_calibrate(calibrate_machine_files); }};

}  // namespace fabricost::cli
