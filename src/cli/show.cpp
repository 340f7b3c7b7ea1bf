/// \file show.cpp
/// fabricost show: one machine, tier by tier, with where every number comes from.

#include "text/text_table.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/error.hpp>
#include <fabricost/explain/show.hpp>
#include <fabricost/pictures/picture.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace fabricost::cli {
namespace {

[[nodiscard]] nlohmann::ordered_json number_or_null(double value) {
  return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

[[nodiscard]] nlohmann::ordered_json to_json(const System& system) {
  nlohmann::ordered_json out;
  out["name"] = system.name;
  out["title"] = system.title;
  out["gpu"] = system.gpu.name;
  out["memory_GiB"] = system.memory().value() / gibibyte;
  out["memory_source"] = system.gpu.memory.provenance.source;
  out["memory_confidence"] = name(system.gpu.memory.provenance.confidence);
  out["gpus"] = system.gpus();
  out["gpus_per_node"] = system.gpus_per_node;
  out["domain"] = system.domain;
  out["nodes"] = system.nodes;
  out["calibration"] = system.constants.name;
  out["basis"] = name(system.constants.basis);
  out["tiers"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < system.tiers.size(); ++i) {
    const Tier& tier = system.tiers[i];
    nlohmann::ordered_json one;
    one["name"] = tier.name.view();
    one["role"] = name(tier.role);
    one["kind"] = name(tier.kind);
    one["endpoints"] = tier.endpoints;
    one["bandwidth_GBps"] = tier.bandwidth.value.value() / 1e9;
    one["latency_us"] = number_or_null(tier.latency.value.value() * 1e6);
    one["aggregate_GBps"] = aggregate_of(system, tier).value() / 1e9;
    one["bisection_GBps"] = bisection_of(system, tier).value() / 1e9;
    one["ratio_to_next"] = number_or_null(ratio_to_next(system, i));
    one["source"] = tier.bandwidth.provenance.source;
    one["confidence"] = name(tier.bandwidth.provenance.confidence);
    out["tiers"].push_back(std::move(one));
  }
  return out;
}

/// As typed; empty where nothing was. The question of a picture with loads is that of predict.
struct ShowOptions : Question {
  bool json = false, svg = false;
};

/// The picture, with the loads of the operation that was asked about, if one was.
[[nodiscard]] std::string drawn(const ShowOptions& options) {
  Question question = options;
  const bool asked = !question.operation.empty() || !question.size.empty();
  if (!asked && (!question.nodes.empty() || !question.ranks.empty()))
    throw RequestError("--nodes and --ranks are for a picture with loads: add --size, as in --size 256MiB");
  if (!asked) return picture(load_system(options.system, options.overrides, options.calibration));
  if (question.operation.empty()) question.operation = "all_reduce";
  const Asked what = ask(question, true);
  const Prediction prediction = predict(what.system, what.operation, what.choice);
  return picture(what.system, &prediction, title(what, prediction.ranks, prediction.nodes, true));
}

}  // namespace

void add_show(CLI::App& app, Runner& runner) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App& sub = *app.add_subcommand("show", "One machine, tier by tier");
  sub.add_option("SYSTEM", options->system, "A name (see fabricost systems) or a YAML file")->option_text(" ");
  sub.add_option("--calibration", options->calibration, "none or a file; default the shipped one")->option_text("FILE");
  sub.add_option("--set", options->overrides, "Override one value of the system, repeatable")
      ->option_text("PATH=VALUE")
      ->allow_extra_args(false);
  sub.add_flag("--json", options->json, "Print JSON");
  sub.add_flag("--svg", options->svg, "Print a picture (SVG)");
  sub.add_option("--op", options->operation, "With --svg: colour tiers by their load in it; default all_reduce")->option_text("OP");
  sub.add_option("--nodes", options->nodes, "Of that operation")->option_text("N");
  sub.add_option("--ranks", options->ranks, "Of that operation")->option_text("R");
  add_size(sub, *options);
  sub.footer("Example: fabricost show gb200-nvl72\n         fabricost show dgx-h100 --svg --op all_reduce --size 256MiB > dgx-h100.svg");
  runner.add(sub, [options](const Terminal& terminal) {
    if (options->system.empty()) throw RequestError("which machine? fabricost systems lists the names");
    if (options->svg && options->json) throw RequestError("--svg or --json, not both");
    if (options->svg) return drawn(*options);
    if (!options->operation.empty() || !options->size.empty() || !options->nodes.empty() || !options->ranks.empty())
      throw RequestError("--op, --size, --nodes and --ranks colour a picture: add --svg");
    const System system = load_system(options->system, options->overrides, options->calibration);
    return options->json ? printed(to_json(system)) : terminal.strong_headings(show(system));
  });
}

}  // namespace fabricost::cli
