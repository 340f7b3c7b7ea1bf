#pragma once
/// \file plan_serve.hpp
/// fabricost plan --serve: its options beyond those of --train, and its answer.

#include "runner.hpp"

#include <fabricost/serving/plan.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace fabricost::cli {

/// As typed; empty where nothing was. The first ones are plan's own.
struct ServeOptions {
  std::string model, system, gpus, precision, stack, calibration, top, tp, pp, ep, dp, routing;
  std::vector<std::string> overrides;
  bool json = false, pareto = false;

  std::string isl, osl, ttft, tpot, batch, concurrency, kv_precision, offload_weights, offload_kv;
  bool disaggregated = false, graph = false, eager = false;
};

/// Adds --isl, --osl, --ttft, --tpot, --batch, --concurrency, --kv-precision, --disaggregated, --offload-weights, --offload-kv,
/// --graph and --eager.
void add_serve_options(CLI::App& subcommand, ServeOptions& options);

/// The name of an option of serving alone that was given; empty: none.
[[nodiscard]] std::string_view given_option(const ServeOptions& options);

/// What was asked, as meant, and what was found.
struct ServeAnswer {
  ServingQuestion question;
  System system;
  ServingPlan plan;
  double seconds = 0;  ///< of the search
  std::vector<PricedServing> pareto;
};

/// The search on a machine that is loaded already (`options.system` is not looked at); at least one layout.
/// \throws RequestError, SpecError; also when nothing fits or keeps the limits, saying what comes nearest
[[nodiscard]] ServeAnswer serve_answer(const ServeOptions& options, const System& system);

/// The same as text or JSON, the machine loaded by its name. \throws RequestError, SpecError; also when nothing fits or keeps the limits,
/// saying what comes nearest
[[nodiscard]] std::string plan_serve(const ServeOptions& options, const Terminal& terminal);

}  // namespace fabricost::cli
