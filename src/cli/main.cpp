/// \file main.cpp
/// The fabricost command: one line per subcommand, each in a file of its name. runner.hpp says what a subcommand must do.

#include "runner.hpp"
#include "subcommands.hpp"

#include "../catalogue/shipped_specs.hpp"
#include "specs/catalogue.hpp"

int main(int argc, char** argv) {
  fabricost::io::use_catalogue(fabricost::io::shipped_specs);
  fabricost::cli::Runner runner;
  fabricost::cli::add_systems(runner.app(), runner);
  fabricost::cli::add_models(runner.app(), runner);
  fabricost::cli::add_show(runner.app(), runner);
  fabricost::cli::add_predict(runner.app(), runner);
  fabricost::cli::add_explain(runner.app(), runner);
  fabricost::cli::add_sweep(runner.app(), runner);
  fabricost::cli::add_share(runner.app(), runner);
  fabricost::cli::add_transfer(runner.app(), runner);
  fabricost::cli::add_validate(runner.app(), runner);
  fabricost::cli::add_calibrate(runner.app(), runner);
  fabricost::cli::add_measure(runner.app(), runner);
  fabricost::cli::add_plan(runner.app(), runner);
  fabricost::cli::add_compare(runner.app(), runner);
  fabricost::cli::add_tune(runner.app(), runner);
  fabricost::cli::add_diagnose(runner.app(), runner);
  fabricost::cli::add_topo(runner.app(), runner);
  fabricost::cli::add_pipeline(runner.app(), runner);
  fabricost::cli::add_goodput(runner.app(), runner);
  fabricost::cli::add_stragglers(runner.app(), runner);
  fabricost::cli::add_cost(runner.app(), runner);
  fabricost::cli::add_report(runner.app(), runner);
  fabricost::cli::add_completion(runner.app(), runner);
  return runner.run(argc, argv);
}
