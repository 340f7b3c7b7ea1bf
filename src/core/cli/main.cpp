/// \file main.cpp
/// The fabricost command: all of subcommands.hpp. runner.hpp describes the contract of a subcommand.

#include "cli/runner.hpp"
#include "cli/subcommands.hpp"

#include "catalogue/shipped_specs.hpp"
#include "specs/catalogue.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f is then a write that fails, with a message and nothing half-written
  fabricost::io::use_catalogue(fabricost::io::shipped_specs);
  fabricost::cli::Runner runner;
  namespace cli = fabricost::cli;
  for (const cli::Component* component : cli::components())
    if (component->join != nullptr) component->join();
  // A first word that is a command needs no other's options, which are half of what starting costs; completion lists all of them.
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool all = first == "completion" || std::none_of(cli::command_names.begin(), cli::command_names.end(),
                                                         [&](const cli::CommandName& one) { return one.name == first; });
  for (const cli::CommandName& command : cli::command_names) {
    void (*add)(CLI::App&, cli::Runner&) = nullptr;
    for (const cli::Component* component : cli::components())
      for (const cli::Subcommand& one : component->subcommands)
        if (one.name == command.name) add = one.add;
    if (add != nullptr && (all || first == command.name)) add(runner.app(), runner);
  }
  return runner.run(argc, argv);
}
