/// Combines the files of a measurement: the stock system, its overrides, the fit of its collectives.

#include <fabricost/probes/machine/this_machine.hpp>

#include "machine/figures.hpp"
#include "specs/parts/gpu_index.hpp"
#include "specs/store.hpp"
#include "text/joined.hpp"
#include "validation/machines.hpp"

#include <fabricost/error.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/parameters.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::probes {

AnswerTable<MachineFinding> MachineFinding::fields() {
  using A = MachineFinding;
  return {gives(&A::cause, "cause", "cause", "Its name, as in `pcie_downgraded`."),
          gives(&A::confidence, "confidence", "confidence", "0 a guess, 1 the machine says so itself."),
          gives(&A::evidence, "evidence", "evidence", "What was read and measured, with the figures."),
          gives(&A::remedy, "remedy", "remedy", "What to try.")};
}

namespace {

/// The points of library collectives, under the machine's name.
Points collectives_in(const std::filesystem::path& file, const std::string& system) {
  Points points = read_points(file, {.system = system});
  std::erase_if(points.points, [](const Point& p) { return p.path.has_value(); });  // copies belong to other tiers
  for (Point& point : points.points) point.system = system;
  return points;
}

/// The fraction of the memory rate that streaming kernels reach, from copies and in-place scaling. If neither
/// was measured, the absolute rate is kept, which is another fraction of the measured rate.
std::optional<CalibratedSet> streaming_share(const ThisMachine& machine, const System& stock) {
  const MeasuredFigure* best = best_rate(machine.figures, "hbm", {"read", "write", "copy", "scale in place"});
  const MeasuredFigure* copy = figure(machine.figures, "hbm", "copy");
  const MeasuredFigure* scale = figure(machine.figures, "hbm", "scale in place");
  if (best == nullptr) return std::nullopt;
  CalibratedSet out;
  out.set = ConstantSet::compute;
  out.name = fmt::format("compute-{}", name(stock.gpu.generation));
  out.generation = stock.gpu.generation;
  out.library = stock.library;
  out.systems = {stock.name};
  out.only_fitted = true;
  const auto& table = parameters_of(ConstantSet::compute);
  const Parameter& memory = *std::find_if(table.begin(), table.end(), [](const Parameter& p) { return p.key == "memory"; });
  const double before = memory.value(stock.constants);
  double rate = before * stock.gpu.hbm_bandwidth.value.value(), spread = memory.spread;
  if (copy != nullptr || scale != nullptr) {
    rate = copy == nullptr ? scale->value : scale == nullptr ? copy->value : 0.5 * (copy->value + scale->value);
    spread = copy != nullptr && scale != nullptr ? std::fabs(std::log(copy->value / scale->value)) / 2 : policy::fits::memory_spread;
    out.points = (copy != nullptr ? copy->points : 0) + (scale != nullptr ? scale->points : 0);
  } else if (machine.machine.gpus.front().mig_instance) {
    return std::nullopt;  // the streaming rate of a whole GPU does not apply to a slice
  }
  memory.of(out.constants) = std::clamp(rate / best->value, memory.min, memory.max);
  out.fitted.push_back({.key = memory.key,
                        .measure = memory.measure(),
                        .value = memory.value(out.constants),
                        .prior = before,
                        .deviation = std::max(0.001, spread),
                        .prior_deviation = memory.spread,
                        .determined = out.points > 0});
  return out;
}

/// "7 H100, 1 H200": how many there are of each name, in order.
std::string counted_by_name(const std::vector<MeasuredGpu>& gpus) {
  std::vector<std::pair<std::string, int>> counts;
  for (const MeasuredGpu& gpu : gpus) {
    const auto same = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == gpu.name; });
    same == counts.end() ? void(counts.emplace_back(gpu.name, 1)) : void(++same->second);
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) words.push_back(fmt::format("{} {}", count, name));
  return joined(words);
}

/// One line for all GPUs, or with the first one that differs.
template <class Text>
std::string of_all(const std::vector<MeasuredGpu>& gpus, Text&& text) {
  std::string first = text(gpus.front());
  for (std::size_t i = 1; i < gpus.size(); ++i)
    if (const std::string other = text(gpus[i]); other != first) return fmt::format("{} (GPU 0), {} (GPU {})", first, other, i);
  return first;
}

std::string on_off(std::optional<bool> value) { return !value ? "unknown" : *value ? "on" : "off"; }

std::vector<std::pair<std::string, std::string>> facts_of(const MeasuredMachine& m) {
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back("GPUs", counted_by_name(m.gpus));
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) out.emplace_back(what, value);
  };
  add("driver", m.driver);
  add("runtime", m.runtime.empty() ? "" : fmt::format("{} {}", m.runtime, m.runtime_version));
  add("collectives", m.library.empty() ? "" : fmt::format("{} {}", m.library, m.library_version));
  const auto link = [](int generation, int lanes) { return lanes > 0 ? fmt::format("{} x{}", generation, lanes) : std::string{"unknown"}; };
  add("PCIe", of_all(m.gpus, [&](const MeasuredGpu& g) {
        return fmt::format("{} now, {} at most", link(g.pcie_generation, g.pcie_lanes), link(g.pcie_generation_max, g.pcie_lanes_max));
      }));
  add("NVLinks", of_all(m.gpus, [](const MeasuredGpu& g) { return g.nvlinks ? std::to_string(*g.nvlinks) : std::string{}; }));
  add("clock", of_all(m.gpus, [](const MeasuredGpu& g) {
        return g.clock > 0 ? fmt::format("{:.0f} MHz of {:.0f}", g.clock * 1e-6, g.clock_max * 1e-6) : std::string{};
      }));
  add("ECC", of_all(m.gpus, [](const MeasuredGpu& g) { return on_off(g.ecc); }));
  add("MIG", of_all(m.gpus, [](const MeasuredGpu& g) { return g.mig_instance ? "a slice" : on_off(g.mig); }));
  return out;
}

std::string stock_of(const MeasuredMachine& machine, const std::string& given) {
  const std::string& named = given.empty() ? machine.system : given;
  if (named.empty())
    throw Refusal(
        fmt::format("{}: no shipped system is known to be like {}; name the nearest with <system> (`fabricost machine` lists "
                    "them), or describe yours in a file (`fabricost topo`)",
                    machine.file, counted_by_name(machine.gpus)));
  return is_path(named) ? std::filesystem::absolute(named).string() : named;
}

}  // namespace

ThisMachine calibrate_machine(const std::filesystem::path& points, const ThisMachineRequest& request) {
  ThisMachine out;
  out.machine = read_measured_machine(machine_file_of(points));
  const std::string named = stock_of(out.machine, request.system);
  System stock = load_system(named, {}, request.calibration);
  const std::string gpu = GpuIdentities::shipped()->gpu_named(out.machine.gpus.front().name);
  std::vector<std::string> other_gpu;
  if (!gpu.empty() && gpu != stock.gpu.name) other_gpu.push_back(fmt::format("gpu={}", gpu));
  if (!other_gpu.empty()) stock = load_system(named, other_gpu, request.calibration);
  out.stock = stock.name;
  const Points collectives = collectives_in(points, named);
  const std::vector<ProbeRow> probes = read_probes(points);
  if (collectives.points.empty() && probes.empty())
    throw RequestError(fmt::format("{}: holds no measured time; run fabricost measure once more", points.string()));

  const std::string day = out.machine.date.substr(0, 10);
  const std::string host = out.machine.host.empty() ? "this machine" : out.machine.host;
  const std::string source = fmt::format("measured on {}{}{}", host, day.empty() ? "" : ", ", day);
  out.figures = figures_of(probes, out.machine, stock);
  MachineSettings settings = settings_of(out.machine, out.figures, stock, source);
  settings.set.insert(settings.set.begin(), other_gpu.begin(), other_gpu.end());
  out.not_calibrated = std::move(settings.kept);
  out.facts = facts_of(out.machine);
  out.findings = findings_of({out.machine, out.figures, stock, collectives.points});

  Calibration written;
  written.system = stock.name;
  if (collectives.points.empty()) {
    out.not_calibrated.emplace_back("collectives: none was measured");
  } else {
    try {
      out.calibration = calibrate(collectives, {.system = named, .calibration = request.calibration, .overrides = settings.set});
      written = *out.calibration;
    } catch (const RequestError& error) {
      out.not_calibrated.push_back(fmt::format("collectives: {}", error.what()));
    }
  }
  if (auto share = streaming_share(out, stock)) written.sets.push_back(std::move(*share));
  out.title = fmt::format("{}: {}, {}", host, counted_by_name(out.machine.gpus), day.empty() ? "measured" : "measured " + day);
  out.system = {.extends = named, .set = std::move(settings.set), .calibration = request.calibration};
  if (!written.sets.empty()) {
    const std::string date = !request.date.empty() ? request.date : day.empty() ? "unknown" : day;
    out.system.calibration = calibration_yaml(written, "this-machine", date, fmt::format("fabricost calibrate: {}", source));
  }
  return out;
}

std::string this_machine_yaml(const ThisMachine& machine) { return saved_system_yaml(machine.system, machine.title); }

}  // namespace fabricost::probes
