#pragma once
/// \file subcommands.hpp
/// All commands, and what each component adds.

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace fabricost::cli {

class Runner;

/// A command and the component that brings it.
struct CommandName {
  std::string_view name, component;
};
/// In the order of help.
inline constexpr std::array command_names{
    CommandName{"systems", "core"},    CommandName{"models", "plan"},       CommandName{"show", "core"},
    CommandName{"predict", "core"},    CommandName{"explain", "core"},      CommandName{"sweep", "core"},
    CommandName{"share", "core"},      CommandName{"transfer", "core"},     CommandName{"validate", "core"},
    CommandName{"calibrate", "core"},  CommandName{"measure", "probes"},    CommandName{"plan", "plan"},
    CommandName{"compare", "plan"},    CommandName{"need", "plan"},         CommandName{"project", "plan"},
    CommandName{"explore", "plan"},    CommandName{"tune", "core"},         CommandName{"diagnose", "observe"},
    CommandName{"trace", "observe"},   CommandName{"topo", "observe"},      CommandName{"pipeline", "plan"},
    CommandName{"goodput", "plan"},    CommandName{"stragglers", "plan"},   CommandName{"cost", "plan"},
    CommandName{"report", "core"},     CommandName{"completion", "core"}};

/// How a command is made.
struct Subcommand {
  std::string_view name;
  void (*add)(CLI::App& app, Runner& runner);
};

/// A component's part of the command.
struct Component {
  std::string_view name;
  std::span<const Subcommand> subcommands;  ///< one of a name that an earlier component has replaces it
  void (*join)() = nullptr;                 ///< what it adds to commands of others
};
extern const Component core_commands, plan_commands, observe_commands, probes_commands;

/// The components of this build, in the order in which they build on each other (components.cpp, by the build).
[[nodiscard]] std::span<const Component* const> components();

/// "plan is of the component plan, ...": of a command that this build leaves out; empty for others.
[[nodiscard]] std::string left_out_text(std::string_view command);
/// What help says of the commands that this build leaves out, by component; empty where it has all.
[[nodiscard]] std::string left_out_help();

}  // namespace fabricost::cli
