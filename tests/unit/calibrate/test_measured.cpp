// The fit over the shared measurements: it reproduces the shipped calibrations, and a few points go far on a generation never seen.
#include "support/measurements.hpp"
#include "synthetic.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/calibrate/probes.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::core;
using namespace synthetic;

namespace {

/// Machines fitted with their own geometric mean as prior: the mean of a fit is the prior of the next, three times. The shipped prior is
/// the mean of three generations, and one left out would still pull the others' fit through it.
Calibration fit_with_own_prior(const Points& points) {
  Calibration fit = calibrate(points);
  for (int round = 0; round < 3; ++round) {
    const auto mean = [before = fit](Constants& prior) {
      System machine;
      apply_mean(before, machine);
      prior = machine.constants;
    };
    fit = calibrate(points, {.prior = mean});
  }
  return fit;
}

using fabricost::test::measurements;

const std::vector<std::string> generations{"dgx-a100", "dgx-h100", "dgx-b200"};
/// The options with which CONTRIBUTING.md fits them.
const CalibrateOptions as_shipped{.leave_out = {"aiconfigurator/h100_sxm/nccl/2.23"}};

Points points_of_systems(const std::filesystem::path& folder, const std::vector<std::string>& systems, const std::string& kind = "nccl") {
  Points out;
  for (const std::string& system : systems) out.append(read_points(folder / (system + "." + kind + ".csv")));
  return out;
}

/// The largest difference between a fresh calibration and the shipped file, over all constants, in percent.
double worst_difference(const Calibration& fit, const std::vector<std::string>& systems) {
  double worst = 0;
  for (std::size_t i = 0; i < fit.sets.size(); ++i) {
    const CalibratedSet& set = fit.sets[i];
    const std::string system = systems.at(i);
    REQUIRE(set.systems == std::vector<std::string>{system});
    const System machine = load_system(system);
    const Constants& shipped = machine.constants;
    CHECK((set.set == ConstantSet::transport ? shipped.transport_operations : shipped.operations) ==
          measured_operations_of(set.fitted_on, machine));
    for (const Parameter& p : parameters_of(set.set)) {
      const double fresh = p.value(set.constants), there = p.value(shipped);
      if (!(fresh > 0) && !(there > 0)) continue;
      INFO(set.name << " " << p.key << ": shipped " << there << ", fitted " << fresh);
      CHECK(std::fabs(std::log(fresh / there)) < 0.01);
      worst = std::max(worst, 100 * std::fabs(std::log(fresh / there)));
    }
  }
  return worst;
}

/// Errors in percent of the points of a generation left out of the fit, after `probes` of it were measured.
std::vector<double> errors_after(const std::filesystem::path& folder, const std::string& left_out, std::span<const Probe> probes) {
  std::vector<std::string> others;
  for (const std::string& g : generations)
    if (g != left_out) others.push_back(g);
  const Calibration known = fit_with_own_prior(points_of_systems(folder, others));
  const auto blind = [&](System& system) { apply_mean(known, system); };
  const std::vector<Point> measured = merge_repeats(points_of_systems(folder, {left_out}).points);
  System system = load_system(left_out, {}, "none");
  blind(system);
  if (!probes.empty()) {
    Points few;
    for (const Probe& probe : probes) {
      const auto same = std::find_if(measured.begin(), measured.end(), [&](const Point& p) {
        return p.collective == probe.op && p.bytes == probe.bytes && p.dtype == DataType::half && p.ranks() == (probe.pair ? 2 : 8);
      });
      REQUIRE(same != measured.end());
      few.points.push_back(*same);
    }
    apply_calibration(system, calibrate(few, {.system = left_out, .calibration = "none", .adjust = blind}));
  }
  std::vector<double> out;
  for (const Point& p : measured) {
    const Operation op{.collective = p.collective, .bytes = Bytes::from_value(p.bytes), .ranks = p.ranks(), .dtype = p.dtype};
    out.push_back(100 * std::fabs(predict(system, op).seconds / p.seconds - 1));
  }
  return out;
}

}  // namespace

TEST_CASE("shipped calibrations are what a fit of the shared measurements says", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const Calibration nvlink = calibrate(points_of_systems(folder, generations), as_shipped);
  CHECK(nvlink.converged);
  CHECK(nvlink.points == 2016);  // B200 with NCCL up to 2.28 and from 2.29 on
  CHECK(worst_difference(nvlink, generations) < 1);
  CHECK(worst_difference(calibrate(points_of_systems(folder, {"l40s-pcie"})), {"l40s-aiconfigurator"}) < 1);
  CHECK(worst_difference(calibrate(points_of_systems(folder / "second", {"rtx-pro-6000-pcie"})), {"rtx-pro-6000-pcie"}) < 1);
  CHECK(worst_difference(calibrate(points_of_systems(folder, {"b60-pcie"}, "oneccl")), {"b60-pcie"}) < 1);
}

TEST_CASE("the prior is the geometric mean of the shipped generations", "[calibrate][measurements]") {
  // to 6 %, and to 2 % or the standard error of a constant known less well: each fit pulls such a one towards the prior it started from
  const auto folder = measurements();
  std::map<std::string, double, std::less<>> deviation;
  if (!folder.empty()) {
    const Calibration fit = calibrate(points_of_systems(folder, generations), as_shipped);
    for (const CalibratedSet& set : fit.sets)
      for (const FittedConstant& c : set.fitted) deviation[std::string{c.key}] = std::max(deviation[std::string{c.key}], c.deviation);
  }
  const Constants prior;
  for (const Parameter& p : scale_up_parameters) {
    double sum = 0;
    int count = 0;
    for (const std::string& system : generations) {
      if (system == "dgx-a100" && p.key.starts_with("nvls.")) continue;  // no in-switch reduction
      sum += std::log(p.value(load_system(system).constants));
      ++count;
    }
    const double off = std::fabs(std::log(p.value(prior)) - sum / count);
    const auto known = deviation.find(p.key);
    const double unsure = known != deviation.end() ? known->second : folder.empty() ? 0.06 : 0;
    INFO(p.key << ": off by " << 100 * off << " %, standard error " << 100 * unsure << " %");
    CHECK(off < 0.06);
    CHECK(off < std::max(0.02, unsure));
  }
}

TEST_CASE("a generation left out is predicted well after a few probes", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  struct Step {
    const char* what;
    std::span<const Probe> probes;
    double max;
  };
  double before = 1e9;
  for (const Step& step : {Step{"nothing", {}, 25}, Step{"two latencies", std::span{quick_probes}.first(2), 8},
                           Step{"with one bandwidth", std::span{quick_probes}.first(3), 8}, Step{"twelve points", quick_probes, 5.2}}) {
    std::vector<double> pooled;
    std::string each;
    for (const std::string& left_out : generations) {
      const std::vector<double> errors = errors_after(folder, left_out, step.probes);
      each += " " + left_out + " " + std::to_string(median(errors));
      pooled.insert(pooled.end(), errors.begin(), errors.end());
    }
    CHECK(pooled.size() == 2358);
    const double now = median(pooled);
    WARN("left out, " << step.what << ": median error " << now << " % (" << each << " )");
    CHECK(now <= step.max);
    CHECK(now < before);
    before = now;
  }
}

TEST_CASE("no probe is measured twice", "[calibrate]") {
  for (std::size_t i = 0; i < quick_probes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      CHECK_FALSE((quick_probes[i].op == quick_probes[k].op && quick_probes[i].pair == quick_probes[k].pair &&
                   quick_probes[i].bytes == quick_probes[k].bytes));
}
