/// \file observe_commands.cpp
/// Commands that read logs, topologies and traces.

#include "cli/subcommands.hpp"

namespace fabricost::cli {

void add_diagnose(CLI::App& app, Runner& runner);
void add_trace(CLI::App& app, Runner& runner);
void add_topo(CLI::App& app, Runner& runner);

namespace {
constexpr std::array observe_subcommands{
    Subcommand{"diagnose", add_diagnose},
    Subcommand{"trace", add_trace},
    Subcommand{"topo", add_topo}};
}  // namespace

const Component observe_commands{"observe", observe_subcommands};

}  // namespace fabricost::cli
