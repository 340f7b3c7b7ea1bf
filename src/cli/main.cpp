/// \file main.cpp
/// The fabricost command: all of subcommands.hpp. runner.hpp describes the contract of a subcommand.

#include "cli/runner.hpp"
#include "cli/subcommands.hpp"

#include "catalogue/shipped_specs.hpp"
#include "specs/catalogue.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <string_view>

namespace {

#define FABRICOST_NAME(name) std::string_view{#name},
constexpr std::array names{FABRICOST_SUBCOMMANDS(FABRICOST_NAME)};
#undef FABRICOST_NAME

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f is then a write that fails, with a message and nothing half-written
  fabricost::io::use_catalogue(fabricost::io::shipped_specs);
  fabricost::cli::Runner runner;
  // A first word that is a command needs no other's options, which are half of what starting costs; completion lists all of them.
  std::string first = argc > 1 ? argv[1] : "";
  std::replace(first.begin(), first.end(), '-', '_');  // link-failure is declared as link_failure
  const bool all = first == "completion" || std::find(names.begin(), names.end(), first) == names.end();
#define FABRICOST_ADD(name) \
  if (all || first == #name) fabricost::cli::add_##name(runner.app(), runner);
  FABRICOST_SUBCOMMANDS(FABRICOST_ADD)
#undef FABRICOST_ADD
  return runner.run(argc, argv);
}
