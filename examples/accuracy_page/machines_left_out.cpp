/// nccl-tests inside one node, each machine predicted as if nobody had measured it; a rack of GB200, each size as if nobody had measured
/// it.

#include "sections.hpp"
#include "table.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/hardware/tuner.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string_view>

namespace accuracy {

using namespace fabricost::plan;

namespace {

/// Constants that fits to runs inside one node set: what one host takes for a peer, what threads leave of its time, and what
/// kernels of NCCL before 2.19 take of the constants of later ones.
struct OneNodeConstants {
  std::array<double, 5> values{};
  enum Place : std::size_t { host_peer, host_threads, launch, forward, exchange_base };

  void apply(System& system, bool old_kernels) const {
    ScaleUpConstants& c = system.constants.scale_up;
    const TunerTables& shipped = tables_of(tuner_of_version(2, 12));
    c.form.host_peer = values[host_peer];
    c.form.host_threads = std::min(1.0, values[host_threads]);
    if (!old_kernels) return;
    c.launch *= values[launch] / shipped.launch_share;
    c.ll.forward *= values[forward] / shipped.ll_forward_share;
    c.all_to_all.base *= values[exchange_base] / shipped.exchange_base_share;
  }
};

Points of_machines(const Points& all, const std::function<bool(const std::string&)>& taken) {
  Points out;
  for (const Point& p : all.points)
    if (taken(p.system.str())) out.points.push_back(p);
  return out;
}

/// Minimises the log error, and the distance from the prior, over one value at a time, by steps that halve.
OneNodeConstants fitted(const Points& points, const std::function<void(System&, const OneNodeConstants&)>& apply) {
  // where later releases stand, no lock is waited for, and a peer costs a tenth of the launch
  const ScaleUpForm& form = Constants{}.scale_up.form;
  const OneNodeConstants prior{{form.host_gpu / 10, 1, 1, 1, 1}};
  constexpr double scatter = 0.1, spread = 0.5;  // of a point, of a constant beside its prior, in log
  OneNodeConstants at = prior;
  const auto cost = [&](const OneNodeConstants& c) {
    double sum = 0;
    for (std::size_t i = 0; i < c.values.size(); ++i) sum += scatter * std::pow(std::log(c.values[i] / prior.values[i]) / spread, 2);
    for (const ComparedPoint& p : validate(points, {.adjust = [&](System& system) { apply(system, c); }}).points)
      sum += std::fabs(std::log(p.prediction.seconds / p.point.seconds));
    return sum;
  };
  double least = cost(at);
  for (double step = std::log(2.0); step > std::log(1.03); step /= 2)
    for (bool better = true; std::exchange(better, false);)
      for (double& value : at.values)
        for (const double factor : {std::exp(step), std::exp(-step)}) {
          const double before = std::exchange(value, value * factor);
          if (const double now = cost(at); now < least)
            least = now, better = true;
          else
            value = before;
        }
  return at;
}

/// The mean of the processors behind form.host_gpu without the machine's own.
double other_processors(const System& machine) {
  constexpr double processors = 5;
  const double mean = Constants{}.scale_up.form.host_gpu, own = machine.host_launch.value.value();
  return own > 0 ? std::pow(std::pow(mean, processors) / own, 1 / (processors - 1)) : mean;
}

struct Part {
  std::string machine, how;
  std::vector<ComparedPoint> points;
};

Part left_out(const std::string& machine, const Points& own, const Points& all) {
  static const std::set<std::string, std::less<>> old_kernels{"hgx-a100", "azure-nd-a100-v4", "abci-a100-hdr"};
  static const std::map<std::string, const char*, std::less<>> relatives{{"mi300x-8", "scale-up-cdna2"},
                                                                         {"mi250x-16gcd", "scale-up-cdna3"}};
  if (const auto relative = relatives.find(machine); relative != relatives.end()) {
    const std::string file = (data_directory() / "calibrations" / relative->second).string() + ".yaml";
    return {machine, fmt::format("`{}`", relative->second), validate(own, {.calibration = file}).points};
  }
  const System shipped = load_system(machine);
  if (!(shipped.host_launch.value.value() > 0)) return {machine, "nothing was fitted to it", validate(own).points};
  const double processor = other_processors(shipped);
  const auto unknown = [&](System& system) {
    if (system.name != shipped.name) return;
    system.host_launch = {};
    system.constants.scale_up.form.host_gpu = processor;
  };
  if (old_kernels.count(machine) == 0)
    return {machine, fmt::format("processor: {:.1f} us", processor * 1e6), validate(own, {.adjust = unknown}).points};
  const auto apply = [&](System& system, const OneNodeConstants& c) {
    unknown(system);
    c.apply(system, old_kernels.count(system.name) > 0);
  };
  const OneNodeConstants others =
      fitted(of_machines(all, [&](const std::string& name) { return name != machine && old_kernels.count(name) > 0; }), apply);
  return {machine, fmt::format("processor: {:.1f} us; kernels before 2.19 and hosts by the others' runs", processor * 1e6),
          validate(own, {.adjust = [&](System& system) { apply(system, others); }}).points};
}

/// Whether a size belongs to the first half: the top bit of Fibonacci's hash.
bool first_half(double bytes) { return (static_cast<std::uint64_t>(bytes) * 0x9E3779B97F4A7C15U) >> 63U != 0; }

}  // namespace

std::string machines_left_out(const Measurements& data) {
  Points all = data.one_node;
  all.append(Points{data.later_one_node});
  std::map<std::string, Points> machines;
  for (const Point& p : data.one_node.points) machines[p.system.str()].points.push_back(p);
  std::string out =
      "## A machine left out, inside one node\n\nThe rows of nccl-tests above, each machine predicted without what was fitted to its "
      "rows.\nIts processor's launch is the mean of the four others'. The costs of peers, of threads and of NCCL before 2.19 are fitted "
      "again to\nthe two machines that are left, all but those of channels, which no file of a machine can state. A machine of RCCL takes "
      "the\nconstants of the neighbouring generation. No run but hgx-a100's launches from threads, so that without it nothing says what "
      "they\nwait for. The copies by element of its 45 misaligned parts stay as they were fitted to it: nobody else ran any.\n\n"
      "| machine | instead of its own | points | median % | mean % | in the interval | interval score |\n|---|---|---|---|---|---|---|\n";
  std::vector<ComparedPoint> together;
  for (const auto& [machine, own] : machines) {
    Part part = left_out(machine, own, all);
    const ErrorSummary e = summarise(part.points);
    out += fmt::format("| {} | {} | {} | {:.1f} | {:.1f} | {:.0f} % | {:.2f} |\n", machine, part.how, e.points, e.median_ape, e.mape,
                       100 * e.interval_coverage, e.interval_score);
    together.insert(together.end(), part.points.begin(), part.points.end());
  }
  const ErrorSummary e = summarise(together);
  return out + fmt::format("| **all points** | | {} | {:.1f} | {:.1f} | {:.0f} % | {:.2f} |\n\n", e.points, e.median_ape, e.mape,
                           100 * e.interval_coverage, e.interval_score);
}

std::string rack_sizes_left_out(const Measurements& data) {
  std::string out =
      "## A rack of GB200, sizes left out\n\nXLA's table of collectives of GB200 (openxla/xla), 2 to 72 ranks. A hash keeps half of the "
      "sizes from a fit that starts from\nBlackwell's constants (`scale-up-blackwell`) and sees the other half; then the halves change "
      "places. Of ai-dynamo/aiconfigurator's\npoints the fit sees none. What all racks share (`data/priors/scale-up.yaml`, `fit: form`) "
      "stays as shipped. The fitted rows are by the\nshipped constants, which both tables were fitted to.\n\n" +
      scored_heading("sizes");
  const std::string blackwell = (data_directory() / "calibrations" / "scale-up-blackwell").string() + ".yaml";
  std::vector<ComparedPoint> together;
  for (const bool first : {true, false}) {
    Points fit_to, left;
    for (const Point& p : data.gb200_xla.points) (first_half(p.bytes) == first ? left : fit_to).points.push_back(p);
    const Calibration fit = calibrate(fit_to, {.system = "gb200-nvl72", .calibration = blackwell, .only = ConstantSet::scale_up});
    const ValidationReport report =
        validate(left, {.calibration = blackwell, .adjust = [&](System& system) { apply_calibration(system, fit); }});
    together.insert(together.end(), report.points.begin(), report.points.end());
  }
  const ValidationReport shipped = validate(data.gb200_xla);
  const auto from = [](const std::vector<ComparedPoint>& points, bool large) {
    std::vector<const ComparedPoint*> part;
    for (const ComparedPoint& p : points)
      if ((p.point.bytes >= 65536) == large) part.push_back(&p);
    return summarise(part);
  };
  for (const auto& [large, name] : {std::pair{true, "from 64 KiB"}, {false, "below 64 KiB"}}) {
    out += scored_row(fmt::format("{}, left out", name), from(together, large));
    out += scored_row(fmt::format("{}, fitted", name), from(shipped.points, large));
  }
  return out + "\n";
}

}  // namespace accuracy
