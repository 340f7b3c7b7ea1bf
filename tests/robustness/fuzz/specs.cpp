// Spec files: every kind that somebody may write by hand, and overrides on the command line. What loads is asked for predictions, which
// must be times.
#include "scratch.hpp"
#include "targets.hpp"

#include <fabricost/explain/explain.hpp>
#include <fabricost/pictures/picture.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/prices.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <array>
#include <cmath>

namespace fuzz {

namespace {

using namespace fabricost::plan;

/// Times are finite and not negative, terms sum to them, bounds hold them.
void check(const Prediction& p) {
  require(std::isfinite(p.seconds) && p.seconds >= 0, "a time is finite and not negative: " + std::to_string(p.seconds));
  require(std::isfinite(p.low) && p.low >= 0 && p.low <= p.seconds && p.seconds <= p.high, "the interval holds the time");
}

void ask(const System& system) {
  for (const Collective collective : {Collective::all_reduce, Collective::all_to_all, Collective::broadcast, Collective::send_recv})
    for (const double bytes : {0.0, 4096.0, 1e9})
      tolerate([&] {
        Operation operation{.collective = collective, .bytes = Bytes::from_value(bytes)};
        check(predict(system, operation));
        operation.nodes = 2;
        check(predict(system, operation));
      });
  for (const Tier& tier : system.tiers) require(tier.bisection().value() >= 0, "a bisection is not negative");
  tolerate([&] { (void)show(system); });
  tolerate([&] { (void)picture(system); });
}

void system_spec(std::string_view bytes) {
  const std::string file = Scratch::folder().write("system.yaml", bytes).string();
  tolerate([&] { ask(load_system(file, {}, {}, KernelSets::none())); });
}
/// A file that is only loaded: gpus, links, switches, transports, software stacks, prices.
template <auto load>
void loaded(std::string_view bytes) {
  const std::string file = Scratch::folder().write("spec.yaml", bytes).string();
  tolerate([&] { (void)load(file); });
}
void model_spec(std::string_view bytes) {
  const std::string file = Scratch::folder().write("model.yaml", bytes).string();
  tolerate([&] {
    const Model model = load_model(file);
    const double parameters = parameters_of(model).total;
    require(std::isfinite(parameters) && parameters > 0, "parameters are a number above zero");
  });
}
void calibration_spec(std::string_view bytes) {
  const std::string file = Scratch::folder().write("calibration.yaml", bytes).string();
  tolerate([&] { ask(load_system("dgx-h100", {}, file)); });
}
void saved_spec(std::string_view bytes) {
  const std::string file = Scratch::folder().write("saved.yaml", bytes).string();
  tolerate([&] {
    if (const auto saved = read_saved_system(file)) (void)saved_system_yaml(*saved, "again");
  });
}
/// One override a line.
void overrides(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty() && lines.size() < 20) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    lines.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  tolerate([&] { ask(load_system("aws-p5", lines, {}, KernelSets::none())); });
}

constexpr std::array<Target, 11> specs_list{{{"system_spec", system_spec, "data/systems"},
                                             {"gpu_spec", loaded<load_gpu>, "data/gpus"},
                                             {"link_spec", loaded<load_link>, "data/links"},
                                             {"switch_spec", loaded<load_switch>, "data/switches"},
                                             {"transport_spec", loaded<load_transport>, "data/transports"},
                                             {"model_spec", model_spec, "data/models"},
                                             {"calibration_spec", calibration_spec, "data/calibrations"},
                                             {"saved_spec", saved_spec},
                                             {"stack_spec", loaded<load_stack>, "data/stacks"},
                                             {"price_spec", loaded<load_prices>, "data/prices"},
                                             {"overrides", overrides}}};

}  // namespace

std::span<const Target> spec_targets() { return specs_list; }

}  // namespace fuzz
