/// Fits constants to measured points and reports them.

#include <fabricost/answers/calibrate.hpp>

#include "text/plain_text.hpp"
#include "text/quantile.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace fabricost::core {

RequestTable<CalibrateRequest> CalibrateRequest::fields() {
  using R = CalibrateRequest;
  using enum Amount;
  return {asks(&R::samples, "samples", "--from,-f", "FILE...",
               "Measurements: point CSVs, nccl-tests logs, ...;\ndefault what fabricost measure wrote here", true),
          asks(&R::system, "system", "--system,-s", "NAME",
               "The machine; default the usual one of the GPUs in logs; those\nof point CSVs are fitted together", true),
          field::ask_nodes_of_files<R>,
          field::ask_ranks_of_files<R>,
          field::ask_first_calibration<R>,
          asks(&R::only, "only", "--only", "SET",
               "Fit one set of constants: scale_up, pcie, transport or custom\n(inference engines' all-reduces)"),
          asks(&R::leave_out, "leave_out", "--leave-out", "SOURCE...",
               "Leave out these sources (the beginning of a name is enough);\nSOURCE:FROM:TO leaves out sizes; * stands for any letters"),
          asks(&R::hold, "hold", "--hold", "NAME...",
               "Keep these constants fixed, as ll.hop or pcie:ll.hop\n(NAME=VALUE: at that value); the resulting error shows how\nmuch "
               "each matters"),
          field::ask_launch_of_files<R>,
          field::ask_library_of_files<R>,
          asks(&R::stack, "stack", "--stack", "NAME", "Of tables of kernels: the training stack whose recipe they run in;\ndefault nemo")};
}

AnswerTable<ConstantAnswer> ConstantAnswer::fields() {
  using A = ConstantAnswer;
  constexpr bool left_out = true;
  return {
      gives(&A::set, "", "set", "Whose it is, as in `scale-up-hopper`."),
      gives(&A::name, "name", "name", "As in a calibration file, `simple.hop`."),
      gives(&A::unit, "", "unit", "seconds, bytes_per_second, bytes, or empty for a plain number."),
      gives(&A::file_value, "value", "", ""),
      gives(&A::file_before, "prior", "", ""),
      gives(&A::value, "", "value", "Fitted, in that unit."),
      gives(&A::before, "", "before", "What was known before, in that unit."),
      gives(&A::relative_error, "relative_standard_error", "relative_error", "Standard error over the value."),
      gives(&A::determined, "determined", "determined", "False: the data left it where it was."),
      gives(&A::partner, "correlated_with", "partner", "The constant it is most strongly correlated with; None: of kernels.", 1, left_out),
      gives(&A::correlation, "correlation", "correlation", "How strongly, -1 to 1; None: of kernels.", 1, left_out)};
}

AnswerTable<ResidualAnswer> ResidualAnswer::fields() {
  using A = ResidualAnswer;
  return {gives(&A::points, "points", "points", "How many."),
          gives(&A::median_error, "median_ape", "median_error", "Median of |predicted / measured - 1|.", in_percent),
          gives(&A::mean_error, "mape", "mean_error", "Mean of |predicted / measured - 1|.", in_percent),
          gives(&A::width, "interval", "interval", "Half width in log that holds nine in ten.")};
}

AnswerTable<FittedSet> FittedSet::fields() {
  using A = FittedSet;
  return {gives(&A::name, "name", "name", "Of its file, as in `scale-up-hopper`."),
          gives(&A::kind, "kind", "kind", "scale_up, pcie, transport, compute, custom or moe."),
          gives(&A::systems, "systems", "systems", "That were measured."),
          gives(&A::points, "points", "points", "How many points it was fitted to."),
          gives(&A::median_error, "median_ape", "median_error", "Median of |predicted / measured - 1| after the fit.", in_percent),
          gives(&A::mean_error, "mape", "mean_error", "Mean of |predicted / measured - 1| after the fit.", in_percent),
          gives(&A::constants, "constants", "constants", "List of Constant."),
          gives(&A::residuals, "residuals", "residuals", "A Residual for each way to run, by name.")};
}

AnswerTable<FitAnswer> FitAnswer::fields() {
  using A = FitAnswer;
  return {gives(&A::points, "points", "points", "Merged points that were fitted."),
          gives(&A::constant_count, "constants", "", ""),
          gives(&A::determined, "determined", "determined", "Of the constants, those that the data narrowed."),
          gives(&A::converged, "converged", "converged", "False: it had not settled after its last step."),
          gives(&A::median_before, "median_ape.before", "", ""),
          gives(&A::median_after, "median_ape.after", "", ""),
          gives(&A::mean_before, "mape.before", "", ""),
          gives(&A::mean_after, "mape.after", "", ""),
          gives(&A::median_error, "", "median_error", "Median over the fitted points, after the fit."),
          gives(&A::mean_error, "", "mean_error", "Mean, after the fit."),
          gives(&A::median_error_before, "", "median_error_before", "Median with what was known before."),
          gives(&A::mean_error_before, "", "mean_error_before", "Mean with what was known before."),
          gives(&A::sets, "sets", "sets", "List of FittedSet, one for each file."),
          gives(&A::constants, "", "constants", "List of Constant, of all sets."),
          gives(&A::skipped_rows, "skipped", "", ""),
          gives(&A::skipped, "", "skipped", "Rows that were not fitted, by reason."),
          gives(&A::warnings, "warnings", "warnings", "What speaks against fitting these points.")};
}

AnswerTable<SetAsidePoint> SetAsidePoint::fields() {
  using A = SetAsidePoint;
  return {gives(&A::system, "system", "", ""), gives(&A::operation, "operation", "", ""),           gives(&A::bytes, "bytes", "", ""),
          gives(&A::ranks, "ranks", "", ""),   gives(&A::time, "time_us", "", "", in_microseconds), gives(&A::reason, "reason", "", "")};
}

AnswerTable<CalibrationAnswer> CalibrationAnswer::fields() {
  using A = CalibrationAnswer;
  return {FitAnswer::fields(), gives(&A::set_aside_points, "set_aside", "", ""),
          gives(&A::set_aside, "", "set_aside", "Points left out of the fit, each as a sentence with its reason."),
          gives(&A::guessed_system, "guessed_system", "guessed_system",
                "Machine taken for logs that name none: the usual one of their GPUs; empty: none was.", 1, true)};
}

namespace {

/// Of collectives each constant is reported with the one it is most strongly correlated with.
[[nodiscard]] FittedSet set_of(const CalibratedSet& set) {
  FittedSet out{.name = set.name,
                .kind = std::string{name(set.set)},
                .systems = set.systems,
                .points = set.points,
                .median_error = set.median_ape / 100,
                .mean_error = set.mape / 100};
  constexpr std::array<std::string_view, 4> units{"seconds", "bytes_per_second", "bytes", ""};
  for (const FittedConstant& c : set.fitted) {
    const double scale = c.measure == Measure::share ? set.bandwidth.value() : 1;
    out.constants.push_back({.set = set.name,
                             .name = std::string{c.key},
                             .unit = std::string{units[static_cast<std::size_t>(c.measure)]},
                             .value = c.value * scale,
                             .before = c.prior * scale,
                             .file_value = c.value,
                             .file_before = c.prior,
                             .relative_error = c.deviation,
                             .determined = c.determined});
    if (!is_of_kernels(set.set)) {
      out.constants.back().partner = c.partner;
      out.constants.back().correlation = c.correlation;
    }
  }
  for (const ClassResidual& c : set.classes)
    out.residuals.emplace_back(std::string{c.key}, ResidualAnswer{c.points, c.median_ape / 100, c.mape / 100, c.width});
  return out;
}

/// Points that were set aside do not count in the errors of the fit.
[[nodiscard]] Points without_set_aside(const Points& points, const Calibration& fit) {
  using Key = std::tuple<Collective, DataType, double, double, int, int>;
  const auto key = [](const Point& p) { return Key{p.collective, p.dtype, p.bytes, p.seconds, p.nodes, p.ranks()}; };
  std::set<Key> left_out;
  for (const SetAside& s : fit.set_aside) left_out.insert(key(s.point));
  Points out;
  for (const Point& p : merge_repeats(points.points))
    if (left_out.count(key(p)) == 0) out.points.push_back(p);
  return out;
}

void refuse_sets_of_tables(const CalibrateRequest& r) {
  const auto refuse = [&](std::string_view tables) {
    return Refusal(fmt::format(
        "<only={}>: none of the points depends on these constants. They are fitted from {}: pass one with <samples> and drop <only>",
        name(*r.only), tables));
  };
  if (r.only == ConstantSet::compute) throw refuse("tables of training steps and kernels");
  if (r.only == ConstantSet::moe) throw refuse("tables of MoE dispatch and combine");
}

[[nodiscard]] PointDefaults defaults_of(const CalibrateRequest& r) {
  const bool unnamed = r.system.value != nullptr && r.system.name.empty();
  return stated(unnamed ? r.system.value->name : r.system.name, r.nodes, r.ranks, r.launch, r.library);
}

/// A run whose large sizes, within a factor of 16 of the largest, take longer than nine in ten should; empty: they do not.
[[nodiscard]] std::string slow_beyond_range(const std::vector<ComparedPoint>& run) {
  constexpr double smallest = 4 * mebibyte;  // where links bind
  double top = smallest;
  for (const ComparedPoint& one : run) top = std::max(top, one.point.bytes);
  std::vector<double> beyond, ratios;
  for (const ComparedPoint& one : run)
    if (one.point.bytes >= std::max(smallest, top / 16)) {
      beyond.push_back(one.point.seconds / one.prediction.high);
      ratios.push_back(one.point.seconds / one.prediction.seconds);
    }
  if (beyond.empty() || lower_median(beyond) <= 1) return {};
  const std::string source = run.front().point.source.str();
  return fmt::format("the large sizes of {} take {:.2g} times as long as predicted, beyond the range: a fault of that run would be fitted too "
                     "(fabricost diagnose)",
                     source.empty() ? "the run" : source, lower_median(ratios));
}

/// Runs whose large sizes take longer or shorter than the same sizes of the others, by more than any two sound runs of a machine.
/// The same question is one with the same prediction.
[[nodiscard]] std::vector<std::string> disagreements(const std::vector<ComparedPoint>& compared) {
  constexpr double smallest = 4 * mebibyte;  // where links bind
  constexpr double apart = 1.5;
  std::map<std::tuple<std::string, Collective, double, double>, std::map<std::string, std::vector<double>>> questions;
  for (const ComparedPoint& one : compared)
    if (one.point.bytes >= smallest)
      questions[{one.point.system.str(), one.point.collective, one.point.bytes, one.prediction.seconds}][one.point.source.str()].push_back(
          one.point.seconds);
  std::map<std::string, std::vector<double>> ratios;  // of each run
  for (auto& [question, runs] : questions) {
    if (runs.size() < 2) continue;
    std::vector<double> times;
    for (auto& [source, seconds] : runs) times.push_back(lower_median(seconds));
    const double middle = lower_median(times);
    for (auto& [source, seconds] : runs) ratios[source].push_back(lower_median(seconds) / middle);
  }
  std::vector<std::string> out;
  for (auto& [source, of] : ratios)
    if (const double ratio = lower_median(of); ratio > apart || ratio * apart < 1)
      out.push_back(fmt::format("{} takes {:.2g} times as long as {} at the same {} large sizes: a fit to both is of neither; find out which "
                                "is at fault (fabricost diagnose) and leave it out",
                                source.empty() ? "a run" : source, ratio,
                                ratios.size() == 2 ? (source == ratios.begin()->first ? *ratios.rbegin() : *ratios.begin()).first : std::string{"the other runs"},
                                of.size()));
  return out;
}

/// Logs of another machine than the named one; runs of the fit that take more than twice as long as predicted before, and as the others
/// of their machine do. \param points with their repeats: merged ones have no source
[[nodiscard]] std::vector<std::string> warnings_of(const CalibrateRequest& r, const PointDefaults& otherwise, const Points& points) {
  constexpr std::size_t most = 8;
  std::vector<std::string> out;
  for (const Skipped& one : contradictions(r.samples, r.system, otherwise)) out.push_back(one.reason);
  ValidateRequest request;
  request.system = r.system;
  request.calibration = r.calibration;
  request.raw = true;
  request.adjust = r.adjust;
  Points fitted;
  const std::vector<LeaveOut> by_hand = leave_outs(r.leave_out);
  for (const LeaveOut& one : by_hand)
    if (std::none_of(points.points.begin(), points.points.end(), [&](const Point& p) { return one.holds(p); }))
      out.push_back(fmt::format("no point to leave out is of \"{}\": is that the beginning of a source's name?", plain_text(one.term())));
  std::copy_if(points.points.begin(), points.points.end(), std::back_inserter(fitted.points),
               [&](const Point& p) { return !left_out(by_hand, p); });
  if (!r.system.name.empty()) {
    const std::string own = r.system.get()->name;  // as points name a machine of a file
    for (Point& p : fitted.points)
      if (p.system == own) p.system = r.system.name;
  }
  std::map<std::string, std::map<std::string, std::vector<double>>> ratios;  // measured over predicted, of each machine's runs
  const std::vector<ComparedPoint> compared = validated(std::move(fitted), request).report.points;
  for (const ComparedPoint& one : compared) ratios[one.point.system.str()][one.point.source.str()].push_back(1 / (1 + one.error()));
  const auto by_switches = std::count_if(compared.begin(), compared.end(), [](const ComparedPoint& one) { return is_collnet(one.prediction.ran.algorithm); });
  if (by_switches > 0)
    out.push_back(fmt::format("{} of {} times are of SHARP (collnet), which has no constants of its own: those of rings and trees move with it, "
                              "and its residuals stand under nvls_tree; fit runs without SHARP too",
                              by_switches, compared.size()));
  if (ratios.size() == 1 && ratios.begin()->second.size() == 1)
    if (std::string slow = slow_beyond_range(compared); !slow.empty()) out.push_back(std::move(slow));
  for (std::string& one : disagreements(compared))
    if (out.size() < most) out.push_back(std::move(one));
  for (auto& [named, runs] : ratios) {
    const std::string& system = r.system.value != nullptr ? r.system.value->name : named;  // a machine of a text is named by all of it
    std::vector<double> medians;
    for (auto& [source, values] : runs) medians.push_back(lower_median(values));
    const double others = runs.size() > 1 ? lower_median(medians) : 1;
    for (auto& [source, values] : runs) {
      const double own = lower_median(values);
      const std::string run = source.empty() ? "the run" : source;
      if (own > slowest_run && runs.size() == 1 && ratios.size() == 1)
        throw Refusal(
            fmt::format("<samples>: {} takes {:.2g} times as long as {} should, and no measured run takes over {:.0f}: are its times "
                        "in another unit?",
                        run, own, system, slowest_run));
      if (own > 2 && own > 2 * others && out.size() < most)
        out.push_back(fmt::format("{} takes {:.2g} times as long as {} should{}: what is wrong with that run? (fabricost diagnose)", run,
                                  own, system, runs.size() > 1 ? fmt::format(", its other runs {:.2g} times", others) : std::string{}));
    }
  }
  return out;
}

}  // namespace

std::vector<ConstantAnswer> FitAnswer::constants() const {
  std::vector<ConstantAnswer> out;
  for (const FittedSet& set : sets) out.insert(out.end(), set.constants.begin(), set.constants.end());
  return out;
}

std::vector<SetAsidePoint> CalibrationAnswer::set_aside_points() const {
  std::vector<SetAsidePoint> out;
  for (const SetAside& s : made.set_aside)
    out.push_back({s.point.system.str(), std::string{name(s.point.collective)}, units::B(s.point.bytes), s.point.ranks(),
                   units::s(s.point.seconds), s.reason});
  return out;
}

std::vector<std::string> CalibrationAnswer::set_aside() const {
  std::vector<std::string> out;
  for (const SetAsidePoint& p : set_aside_points())
    out.push_back(
        fmt::format("{} {:.0f} B, {} ranks, {:.4g} us: {}", p.operation, p.bytes.value(), p.ranks, 1e6 * p.time.value(), p.reason));
  return out;
}

std::vector<FittedFile> files_of(const std::vector<CalibratedSet>& sets, std::string_view date, std::string_view origin) {
  std::vector<FittedFile> out;
  for (const CalibratedSet& set : sets) out.emplace_back(set.name + ".yaml", calibration_yaml(set, date, origin));
  return out;
}

std::vector<FittedFile> CalibrationAnswer::files(std::string_view date) const { return files_of(made.sets, date, origin); }

std::string CalibrationAnswer::yaml(std::string_view name, std::string_view date) const {
  return calibration_yaml(made, name, date, origin);
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

std::string fit_origin(int fitted, std::string_view what, const std::vector<Sample>& samples) {
  return fmt::format("fabricost calibrate, least squares on log(predicted/measured) of {} {} of {}", fitted, what, files_text(samples));
}

FitAnswer answer_of(const Calibration& fit) {
  FitAnswer out{.points = fit.points,
                .constant_count = fit.constants,
                .determined = fit.determined,
                .converged = fit.converged,
                .median_before = fit.median_before,
                .median_after = fit.median_after,
                .mean_before = fit.mean_before,
                .mean_after = fit.mean_after,
                .left = fit.skipped};
  for (const CalibratedSet& set : fit.sets) out.sets.push_back(set_of(set));
  return out;
}

Points measured_points(const CalibrateRequest& r) {
  if (!r.stack.empty()) throw Refusal("<stack> is for tables of kernels alone; leave it out");
  if (r.samples.empty()) throw Refusal("from which measurements? Name them: <samples>", true);
  check_ranges(r);
  refuse_sets_of_tables(r);
  return read(r.samples, defaults_of(r), false);
}

CalibrationAnswer answer(const CalibrateRequest& asked) {
  CalibrateRequest r = asked;
  const std::string guessed = !r.system && are_logs(r.samples) ? usual_system_of(r.samples) : std::string{};
  if (!guessed.empty()) r.system.name = guessed;
  if (r.only == ConstantSet::custom) throw Refusal("<only=custom> is of the component plan, which fits the kernels of inference engines");
  const bool unnamed = r.system.value != nullptr && r.system.name.empty();
  const PointDefaults otherwise = defaults_of(r);
  const std::string system = otherwise.system;
  CalibrateOptions how{.system = system,
                       .calibration = r.calibration.empty() ? r.system.calibration : r.calibration,
                       .overrides = r.system.overrides,
                       .adjust = r.adjust,
                       .only = r.only,
                       .leave_out = r.leave_out,
                       .hold = r.hold,
                       .prior = r.prior,
                       .starts = r.starts};
  if (unnamed)
    how.adjust = [&](System& each) {
      each = *r.system.value;
      if (r.adjust) r.adjust(each);
    };
  Points points = measured_points(r);
  const std::vector<std::string> warnings = warnings_of(r, otherwise, points);
  Calibration fit = calibrate(points, how);
  CalibrationAnswer out{answer_of(fit), std::move(fit), std::move(points), {}, {}};
  out.origin = fit_origin(out.points, "merged points", r.samples);
  out.warnings = warnings;
  if (out.made.worse)
    out.warnings.push_back(fmt::format("with a fit the median error rises from {:.2f} to {:.2f} % and the mean from {:.2f} to {:.2f} %: the "
                                       "constants stay as they were. These points do not agree with each other or with the form; look at the "
                                       "residuals, and leave out what is doubtful",
                                       out.median_before, out.made.worse->first, out.mean_before, out.made.worse->second));
  if (const int held = out.made.host_held; held > out.made.points)
    out.warnings.push_back(
        fmt::format("{} of {} points take what the host takes to launch, some {:.3g} us on a GPU by them, and are not fitted; "
                    "where the machine's own file does not say `host_launch:`, launches of the other points are fitted as the GPUs'",
                    held, held + out.made.points, 1e6 * out.made.host_launch));
  out.guessed_system = guessed;
  if (!system.empty()) out.system = {system, r.system.overrides, out.yaml("fitted", today())};
  return out;
}

ValidationAnswer validated(const CalibrationAnswer& fit) {
  Points kept = without_set_aside(fit.fitted, fit.made);
  ValidateRequest request;
  request.system.name = fit.system.extends;
  request.system.overrides = fit.system.set;
  request.calibration = fit.system.calibration;
  if (!fit.system.extends.empty())
    for (Point& p : kept.points) p.system = fit.system.extends;
  return validated(std::move(kept), request);
}

}  // namespace fabricost::core
