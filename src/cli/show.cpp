/// \file show.cpp
/// fabricost show: one machine, tier by tier, with where every number comes from.

#include "../io/text_table.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/error.hpp>
#include <fabricost/io/load.hpp>
#include <fabricost/io/picture.hpp>
#include <fabricost/io/quantity_text.hpp>
#include <fabricost/predict/predict.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace fabricost::cli {
namespace {

/// This tier's rate over that of the next one outward; 0 for the last.
[[nodiscard]] double ratio_to_next(const System& system, std::size_t i) {
  if (i + 1 >= system.tiers.size()) return 0;
  const double next = system.tiers[i + 1].bandwidth.value.value();
  return next > 0 ? system.tiers[i].bandwidth.value.value() / next : 0;
}

[[nodiscard]] nlohmann::ordered_json number_or_null(double value) {
  return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

[[nodiscard]] nlohmann::ordered_json to_json(const System& system) {
  nlohmann::ordered_json out;
  out["name"] = system.name;
  out["title"] = system.title;
  out["gpu"] = system.gpu.name;
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

/// GB/s with four digits, never an exponent.
[[nodiscard]] std::string gigabytes(Bandwidth rate) {
  const double value = rate.value() / 1e9;
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

[[nodiscard]] std::string tiers_table(const System& system) {
  constexpr auto right = TextTable::Align::right;
  TextTable table{{{"tier"},
                   {"kind"},
                   {"joins", right},
                   {"GB/s", right},
                   {"both", right},
                   {"latency", right},
                   {"aggregate", right},
                   {"bisection", right},
                   {"to next", right},
                   {"confidence"}}};
  for (std::size_t i = 0; i < system.tiers.size(); ++i) {
    const Tier& tier = system.tiers[i];
    const bool memory = tier.role == TierRole::memory;
    const double ratio = ratio_to_next(system, i);
    table.row({std::string{tier.name.view()}, std::string{name(tier.kind)}, std::to_string(tier.endpoints), gigabytes(tier.bandwidth.value),
               memory ? "-" : gigabytes(tier.bandwidth.value * 2.0), tier.latency.value.value() > 0 ? time_text(tier.latency.value) : "?",
               memory ? "-" : gigabytes(aggregate_of(system, tier)), memory ? "-" : gigabytes(bisection_of(system, tier)),
               ratio > 0 ? fmt::format("{:.3g}", ratio) : "-", std::string{name(tier.bandwidth.provenance.confidence)}});
  }
  return table.text(2);
}

[[nodiscard]] std::string headline(const System& system) {
  const Tier* tier = system.tier(TierRole::scale_up);
  if (tier == nullptr || tier->endpoints < 2) return "";
  std::string out = wrapped(
      "  ", fmt::format(
                "{}: the headline of {} counts all {} GPUs and both directions; one way it is {}, and {} crosses the worst cut in halves.",
                tier->name.view(), rate_text(tier->aggregate() * 2.0), tier->endpoints, rate_text(tier->aggregate()),
                rate_text(tier->bisection())));
  if (const Tier* nic = system.tier(TierRole::nic); nic != nullptr) {
    const Bandwidth share = nic->bandwidth.value * (static_cast<double>(nic->endpoints) / system.gpus_per_node);
    const double ratio = tier->bandwidth.value / share;
    out += wrapped("  ", fmt::format("{} over {}: {:.3g} times, {} against {} a GPU, one way.", tier->name.view(), nic->name.view(), ratio,
                                     rate_text(tier->bandwidth.value), rate_text(share)));
  }
  return out;
}

[[nodiscard]] std::string sources(const System& system) {
  std::string out;
  const std::string machine_source = system.provenance.source;
  if (!machine_source.empty()) out += wrapped("  machine   ", fmt::format("{} ({})", machine_source, name(system.provenance.confidence)));
  for (const Tier& tier : system.tiers) {
    const Provenance& rate = tier.bandwidth.provenance;
    std::string text = rate.source.empty() ? "no source" : rate.source == machine_source ? "as the machine" : rate.source;
    if (tier.latency.value.value() > 0)
      text += fmt::format("; latency {}{}", name(tier.latency.provenance.confidence),
                          tier.latency.provenance.source == rate.source ? "" : ": " + tier.latency.provenance.source);
    out += wrapped(fmt::format("  {:<8}  ", tier.name.view()), text);
  }
  return out;
}

[[nodiscard]] std::string notes(const System& system) {
  std::string out;
  if (!system.notes.empty()) out += wrapped("  ", system.notes);
  for (const Tier& tier : system.tiers)
    if (!tier.notes.empty()) out += wrapped(fmt::format("  {}: ", tier.name.view()), tier.notes);
  return out;
}

[[nodiscard]] std::string text(const System& system) {
  const Constants& c = system.constants;
  std::string out = fmt::format("{}{}\n", system.name, system.title.empty() ? "" : ": " + system.title);
  out += wrapped("  ", fmt::format("{} GPUs ({}, {} each) in {} node{} of {}; {}.", system.gpus(), system.gpu.name,
                                   size_text(system.memory()), system.nodes, system.nodes == 1 ? "" : "s", system.gpus_per_node,
                                   system.domain > 1 ? fmt::format("scale-up domain of {}", system.domain) : "no scale-up domain"));
  out += "\nTiers, from the inside out\n" + tiers_table(system);
  out += wrapped("  ",
                 "GB/s is one way and per endpoint, \"both\" adds the two directions. Aggregate (all endpoints) and bisection are one way. "
                 "\"to next\": "
                 "this rate over that of the tier below it in the table. ?: unknown.");
  out += headline(system);
  if (const std::string told = notes(system); !told.empty()) out += "\nNotes\n" + told;
  out += "\nSources\n" + sources(system);
  out += "\nCalibration\n" + wrapped("  inside a domain  ", fmt::format("{} ({}): {}", c.name, name(c.basis), c.source));
  if (system.tier(TierRole::nic) != nullptr)
    out += wrapped("  between nodes    ", fmt::format("{} ({}{}): {}", c.transport_name, name(c.transport_basis),
                                                      c.transport_known ? "" : ", transport never measured", c.transport_source));
  return out;
}

/// As typed; empty where nothing was. The question of a picture with loads is that of predict.
struct Options : Question {
  bool json = false, svg = false;
};

/// The picture, with the loads of the operation that was asked about, if one was.
[[nodiscard]] std::string drawn(const Options& options) {
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
  const auto options = std::make_shared<Options>();
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
    return options->json ? printed(to_json(system)) : terminal.strong_headings(text(system));
  });
}

}  // namespace fabricost::cli
