#pragma once
/// All commands, by the components that bring them.

#include <fabricost/namespaces.hpp>

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace fabricost::cli {

class Runner;

/// A command, its component, and how it is made: null where this build leaves the component out.
struct Subcommand {
  std::string_view name, component;
  void (*add)(CLI::App& app, Runner& runner);
};
/// All of them, in the order of help (components.cpp).
[[nodiscard]] std::span<const Subcommand> subcommands();

/// "plan is of the component plan, ...": of a command that this build leaves out; empty for others.
[[nodiscard]] std::string left_out_text(std::string_view command);
/// What help says of the commands that this build leaves out, by component; empty where it has all.
[[nodiscard]] std::string left_out_help();

}  // namespace fabricost::cli
