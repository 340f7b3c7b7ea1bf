/// \file main.cpp
/// The fabricost command: all of subcommands.hpp. runner.hpp describes the contract of a subcommand.

#include "cli/runner.hpp"
#include "cli/subcommands.hpp"

#include "catalogue/shipped_specs.hpp"
#include "specs/catalogue.hpp"

int main(int argc, char** argv) {
  fabricost::io::use_catalogue(fabricost::io::shipped_specs);
  fabricost::cli::Runner runner;
#define FABRICOST_ADD(name) fabricost::cli::add_##name(runner.app(), runner);
  FABRICOST_SUBCOMMANDS(FABRICOST_ADD)
#undef FABRICOST_ADD
  return runner.run(argc, argv);
}
