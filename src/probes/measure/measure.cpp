/// Executes steps in order: time shares, refinement of curves, failures.

#include "measure/measure.hpp"

#include "measure/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricost::probes::measure {

namespace {

constexpr int passes = 3;              ///< over the steps: in the first each gets its share, in the others the remaining time
constexpr int halvings = 10;           ///< of a size that does not fit memory
constexpr int failures_that_end = 2;   ///< consecutive wrong results or faults after which a case is given up
constexpr double point_share = 0.1;    ///< maximum share of the budget for one point
constexpr double waking = 0.5;         ///< seconds until an idle GPU has raised its clocks: warm-up of the first point
constexpr double waking_share = 0.02;  ///< of the budget
const char* const time_spent = "the time was spent";

/// The state of one case: points of all steps that measure it.
struct Known {
  std::vector<CurvePoint> points{};  ///< ascending
  std::set<std::uint64_t> tried{};
  std::optional<std::uint64_t> too_large{};  ///< the smallest size that did not fit memory
  double prepare = 0;                        ///< seconds of the last point beyond its repetitions
  int failures = 0;
  bool over = false;  ///< no further points
};

class Run {
 public:
  Run(Device& device, const Machine& machine, const Plan& plan, const MeasureOptions& options)
      : device_(device), machine_(machine), plan_(plan), options_(options), layout_(layout_of(machine, device.processes())) {}

  Measured all() {
    start_ = options_.now();
    out_.not_measured = plan_.not_measured;
    try {
      start_ = clock();
      out_.before = states_of(device_, machine_);
      take_all();
    } catch (const DeviceLost& gone) {  // while the processes agreed on a time
      lost(gone.what());
    }
    if (!out_.complete) time_reason_ = out_.ended;
    list_what_is_missing();
    if (!lost_) out_.after = states_of(device_, machine_);
    out_.seconds = options_.now() - start_;
    return std::move(out_);
  }

 private:
  double clock() { return device_.agreed(options_.now()); }

  void take_all() {
    for (pass_ = 0; pass_ < passes && going(); ++pass_) {
      double weights = 0;
      for (const Step& step : plan_.steps) weights += step.weight;
      for (std::size_t i = 0; i < plan_.steps.size() && going(); ++i) {
        const Step& step = plan_.steps[i];
        const double share = weights > 0 ? std::max(0.0, left()) * step.weight / weights : 0;
        weights -= step.weight;
        at_ = static_cast<double>(i) / static_cast<double>(plan_.steps.size());
        take(step, clock() + share);
      }
    }
  }

  void lost(const std::string& reason) {
    lost_ = true;
    out_.complete = false;
    out_.ended = reason;
  }
  double left() { return options_.budget - (clock() - start_); }

  /// False after the run has ended for any reason.
  bool going() {
    if (out_.complete && device_.any(options_.interrupted())) {
      out_.complete = false;
      out_.ended = "interrupted";
    }
    return out_.complete && left() > 0;
  }

  void take(const Step& step, double until) {
    Known& known = known_[title_of(step.what)];
    for (const std::uint64_t size : step.sizes) {
      if (known.over || !going()) return;
      point(step, known, size, until);
    }
    while (step.refine && !known.over && going() && clock() < until) {
      const auto size = next_size(known.points, known.tried, plan_.bends, step.unit);
      if (!size || !point(step, known, *size, until)) return;
    }
  }

  /// Estimated seconds of a point of that size, from the next smaller one; 0 if unknown.
  [[nodiscard]] double cost(const Known& known, std::uint64_t size) const {
    if (known.points.empty()) return 0;
    const CurvePoint* near = &known.points.front();
    for (const CurvePoint& p : known.points)
      if (p.bytes <= size) near = &p;
    const double larger = near->bytes > 0 ? std::max(1.0, static_cast<double>(size) / static_cast<double>(near->bytes)) : 1;
    const double batch = std::max(options_.sampling.min_batch, near->seconds * larger);
    return known.prepare + batch * (options_.sampling.min_batches + 3);
  }

  /// Measures one size unless it was tried or does not fit the time. False if the time is used up.
  bool point(const Step& step, Known& known, std::uint64_t size, double until) {
    for (int halved = 0; halved <= halvings; ++halved) {
      if (known.tried.count(size) > 0) return true;
      if (known.too_large && size >= *known.too_large) {
        size = fitting(size / 2, step.unit);
        continue;
      }
      const double expected = cost(known, size), now = clock();
      // the first pass keeps to the step's share, but always measures the first point
      const double end = pass_ == 0 && !known.points.empty() ? until : start_ + options_.budget;
      if (now + expected > end) return false;
      known.tried.insert(size);
      Case what = step.what;
      what.bytes = size;
      if (!measured(what, known, std::min(end - now, options_.budget * point_share))) return true;
      size = fitting(size / 2, step.unit);
    }
    return true;
  }

  /// One try. True if half the size should be tried.
  bool measured(const Case& what, Known& known, double time) {
    tell(title_with_size(what));
    SampleRules rules = options_.sampling;
    rules.time = std::min(rules.time, time);
    if (out_.rows.empty()) rules.min_warm_up = std::min(waking, options_.budget * waking_share);
    const double start = clock();
    const State before = state(what);
    const Attempt tried = attempt(device_, what, rules, [this] { return options_.now(); });
    switch (tried.kind) {
      case Attempt::Kind::measured: {
        known.failures = 0;
        const double repeated = tried.sample.seconds * tried.sample.repetitions * (tried.sample.batches + tried.sample.outliers);
        known.prepare = std::max(0.0, clock() - start - repeated);
        keep(what, tried, known, before, state(what));
        return false;
      }
      case Attempt::Kind::unsupported:
        known.over = true;
        out_.not_measured.push_back({title_of(what), std::nullopt, tried.reason});
        return false;
      case Attempt::Kind::out_of_memory:
        if (!known.too_large || what.bytes < *known.too_large) known.too_large = what.bytes;
        out_.not_measured.push_back({title_of(what), what.bytes, "out of memory: " + tried.reason});
        return what.bytes > 1;
      case Attempt::Kind::wrong_result: failed(what, known, "the result was wrong: " + tried.reason); return false;
      case Attempt::Kind::fault:
      case Attempt::Kind::refused: failed(what, known, tried.reason); return false;
      case Attempt::Kind::lost:
        lost(tried.reason);
        known.tried.erase(what.bytes);
        return false;
    }
    return false;
  }

  void failed(const Case& what, Known& known, const std::string& reason) {
    out_.not_measured.push_back({title_of(what), what.bytes > 0 ? std::optional{what.bytes} : std::nullopt, reason});
    if (++known.failures >= failures_that_end) known.over = true;
  }

  /// The lowest clock of the GPUs of a case, and all that slows one of them down.
  State state(const Case& what) {
    std::set<int> units(what.gpus.begin(), what.gpus.end());
    for (const auto& [from, to] : what.pairs) units.insert({from, to});
    if (units.empty()) units.insert(what.gpu);
    State out;
    for (const int unit : units) {
      if (unit < 0 || unit >= static_cast<int>(machine_.units.size()) || lost_) continue;
      try {
        const State one = device_.state(unit);
        if (one.clock > 0 && (out.clock == 0 || one.clock < out.clock)) out.clock = one.clock;
        if (out.throttled.find(one.throttled) == std::string::npos) out.throttled += (out.throttled.empty() ? "" : ", ") + one.throttled;
      } catch (const std::runtime_error&) {
        // the next case reports it, in all processes together
      }
    }
    return out;
  }

  void keep(const Case& what, const Attempt& tried, Known& known, const State& before, const State& after) {
    const Sample& sample = tried.sample;
    Row row = row_of(what, machine_, layout_, options_.source, options_.system);
    row.seconds = sample.seconds;
    const auto note = [&row](const char* key, std::string value) { row.notes.emplace_back(key, std::move(value)); };
    note("spread", fmt::format("{:.4f}", sample.spread));
    note("batches", std::to_string(sample.batches));
    note("repetitions", std::to_string(sample.repetitions));
    if (sample.outliers > 0) note("outliers", std::to_string(sample.outliers));
    if (!sample.steady) note("unsteady", "yes");
    if (!tried.in_graphs) note("graph", "no");
    if (sample.host) note("host_us", fmt::format("{:.4g}", 1e6 * *sample.host));
    const double clock = before.clock > 0 && after.clock > 0 ? std::min(before.clock, after.clock) : std::max(before.clock, after.clock);
    if (clock > 0) note("clock_mhz", fmt::format("{:.0f}", clock / 1e6));
    const std::string& throttled = after.throttled.empty() ? before.throttled : after.throttled;
    if (!throttled.empty()) note("throttled", throttled);
    const CurvePoint point{what.bytes, sample.seconds, sample.spread};
    known.points.insert(std::upper_bound(known.points.begin(), known.points.end(), point,
                                         [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; }),
                        point);
    options_.point(row);
    out_.rows.push_back(std::move(row));
  }

  void tell(std::string what) {
    const double elapsed = clock() - start_;
    const double by_time = options_.budget > 0 ? elapsed / options_.budget : 1;
    const double by_work = pass_ == 0 ? at_ : 0;
    options_.progress({std::move(what), static_cast<int>(out_.rows.size()), std::clamp(std::max(by_time, by_work), 0.0, 1.0), elapsed,
                       std::max(0.0, options_.budget - elapsed)});
  }

  void list_what_is_missing() {
    std::set<std::pair<std::string, std::uint64_t>> listed;
    for (const Step& step : plan_.steps) {
      const std::string title = title_of(step.what);
      const Known& known = known_[title];
      if (known.over) continue;
      for (const std::uint64_t size : step.sizes)
        if (known.tried.count(size) == 0 && !(known.too_large && size >= *known.too_large) && listed.insert({title, size}).second)
          out_.not_measured.push_back({title, size > 0 ? std::optional{size} : std::nullopt, time_reason_});
    }
  }

  Device& device_;
  const Machine& machine_;
  const Plan& plan_;
  const MeasureOptions& options_;
  Layout layout_;
  Measured out_;
  std::map<std::string, Known> known_;
  std::string time_reason_ = time_spent;
  double start_ = 0, at_ = 0;
  int pass_ = 0;
  bool lost_ = false;
};

}  // namespace

Measured measure(Device& device, const Machine& machine, const Plan& plan, const MeasureOptions& options) {
  return Run(device, machine, plan, options).all();
}

}  // namespace fabricost::probes::measure
