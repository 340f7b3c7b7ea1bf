/// The fabricost command: all of subcommands.hpp. runner.hpp describes the contract of a subcommand.

#include "cli/command_words.hpp"
#include "cli/runner.hpp"
#include "cli/subcommands.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f is then a write that fails, with a message and nothing half-written
  fabricost::cli::Runner runner;
  // A first word that is a command needs no other's options, which are half of what starting costs; completion and help list all of them.
  fabricost::cli::typed_words().assign(argv + std::min(argc, 1), argv + argc);
  const std::vector<std::string> words = fabricost::cli::as_commands(fabricost::cli::typed_words());
  const std::string_view first = words.empty() ? std::string_view{} : std::string_view{words.front()};
  const auto commands = fabricost::cli::subcommands();
  const bool all = first == "completion" || first == "help" ||
                   std::none_of(commands.begin(), commands.end(), [&](const auto& one) { return one.name == first; });
  for (const fabricost::cli::Subcommand& one : commands)
    if (one.add != nullptr && (all || first == one.name)) one.add(runner.app(), runner);
  return runner.run(words);
}
