#pragma once
/// \file subcommands.hpp
/// Every subcommand's way in: adds its options to the application and its work to the runner.

namespace CLI {
class App;
}

namespace fabricost::cli {

class Runner;

void add_systems(CLI::App& app, Runner& runner);
void add_models(CLI::App& app, Runner& runner);
void add_show(CLI::App& app, Runner& runner);
void add_predict(CLI::App& app, Runner& runner);
void add_explain(CLI::App& app, Runner& runner);
void add_sweep(CLI::App& app, Runner& runner);
void add_share(CLI::App& app, Runner& runner);
void add_transfer(CLI::App& app, Runner& runner);
void add_validate(CLI::App& app, Runner& runner);
void add_calibrate(CLI::App& app, Runner& runner);
void add_measure(CLI::App& app, Runner& runner);
void add_plan(CLI::App& app, Runner& runner);
void add_compare(CLI::App& app, Runner& runner);
void add_tune(CLI::App& app, Runner& runner);
void add_diagnose(CLI::App& app, Runner& runner);
void add_topo(CLI::App& app, Runner& runner);
void add_pipeline(CLI::App& app, Runner& runner);
void add_goodput(CLI::App& app, Runner& runner);
void add_stragglers(CLI::App& app, Runner& runner);
void add_cost(CLI::App& app, Runner& runner);
void add_report(CLI::App& app, Runner& runner);
void add_completion(CLI::App& app, Runner& runner);

}  // namespace fabricost::cli
