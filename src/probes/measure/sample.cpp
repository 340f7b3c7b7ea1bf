/// Samples with their statistics, and exceptions of a device as outcomes that all processes agree on.

#include "measure/sample.hpp"

#include "text/quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <memory>
#include <vector>

namespace fabricost::probes::measure {

double Statistics::relative_error() const { return kept > 0 ? 1.2533 * spread / 1.349 / std::sqrt(kept) : 0; }

Statistics statistics_of(const std::vector<double>& batches) {
  Statistics out;
  if (batches.empty()) return out;
  std::vector<double> sorted = batches;
  std::sort(sorted.begin(), sorted.end());
  const double centre = quantile(sorted, 0.5);
  std::vector<double> away;
  for (const double b : sorted) away.push_back(std::fabs(b - centre));
  std::sort(away.begin(), away.end());
  const double deviation = std::max(normal_deviation * quantile(away, 0.5), min_deviation * centre);
  std::vector<double> kept;
  for (const double b : sorted)
    if (std::fabs(b - centre) <= outlier_deviations * deviation) kept.push_back(b);
  out.kept = static_cast<int>(kept.size());
  out.outliers = static_cast<int>(sorted.size()) - out.kept;
  out.median = quantile(kept, 0.5);
  out.spread = out.median > 0 ? (quantile(kept, 0.75) - quantile(kept, 0.25)) / out.median : 0;
  return out;
}

namespace {

constexpr int batches_in_any_case = 3;

class Sampler {
 public:
  Sampler(Device& device, Job& job, const Case& what, const SampleRules& rules, const Clock& now)
      : device_(device), job_(job), what_(what), rules_(rules), now_(now) {}

  Sample take() {
    const double start = clock();
    warm_up();
    if (!out_.refused.empty()) return out_;
    std::vector<double> values, hosts;
    int too_long = 0, too_short = 0;
    for (int batch = 0; batch < rules_.max_batches; ++batch) {
      const Timing t = run(repetitions_);
      const double value = value_of(t);
      if (!usable(value)) return out_;
      values.push_back(value);
      hosts.push_back(t.host);
      const double work = t.device * repetitions_, waited = t.host * repetitions_;
      // the time of a graph's node is the difference of two runs, and so is its host time
      if (t.device > 0 && work > waited * (1 + device_over_host) + clock_grain && what_.kind != ProbeKind::graph_node) ++too_short;
      if (t.device > 0 && waited > work * (1 + host_over_device) + synchronisation + launches() && !what_.cold) ++too_long;
      (void)stretched(t);  // shortens the next batch if this one was too long
      if (batch + 1 >= batches_in_any_case && clock() - start > rules_.time) break;
      if (batch + 1 >= rules_.min_batches && statistics_of(values).relative_error() < rules_.enough) break;
    }
    const Statistics seen = statistics_of(values);
    const Statistics by_host = statistics_of(hosts);
    out_.seconds = seen.median;
    out_.spread = seen.spread;
    out_.batches = seen.kept;
    out_.outliers = seen.outliers;
    out_.repetitions = repetitions_;
    if (2 * too_short > static_cast<int>(values.size()))
      out_.refused = fmt::format("the device's clock says {:.4g} us, the host waited only {:.4g} us: one clock is wrong", 1e6 * seen.median,
                                 1e6 * by_host.median);
    if (2 * too_long > static_cast<int>(values.size()) && what_.kind != ProbeKind::kernel_sync) out_.host = by_host.median;
    return out_;
  }

 private:
  double clock() { return device_.agreed(now_()); }

  /// Runs a batch. A failure of one process ends the sample in all of them, before they exchange times.
  Timing run(int repetitions) {
    const double start = now_();
    Timing own;
    std::exception_ptr fault;
    try {
      own = job_.run(repetitions);
    } catch (...) {
      fault = std::current_exception();
    }
    if (device_.any(fault != nullptr)) {
      if (fault) std::rethrow_exception(fault);
      throw DeviceFault("another process reported a fault");
    }
    each_ = device_.agreed((now_() - start) / repetitions);
    const double device = device_.agreed(own.device);
    return {device, device_.agreed(own.host)};
  }

  [[nodiscard]] double value_of(const Timing& t) const {
    return what_.kind == ProbeKind::kernel_sync || !(t.device > 0) ? t.host : t.device;
  }

  bool usable(double value) {
    if (std::isfinite(value) && value > 0) return true;
    out_.refused = fmt::format("the clocks gave {:.4g} us", 1e6 * value);
    return false;
  }

  [[nodiscard]] double launches() const { return repetitions_ * (what_.graph ? launch_in_graph : launch_each); }

  /// The power of two that makes a batch long enough, but not too long.
  [[nodiscard]] int wanted(const Timing& t) const {
    const double value = value_of(t);
    // only our clock shows further costs of a repetition (a flush, many loads of which one counts)
    const double cost = std::max(t.host, each_);
    const double max = std::min(cost > 0 ? rules_.max_batch / cost : rules_.max_repetitions, static_cast<double>(rules_.max_repetitions));
    const double min = std::clamp(rules_.min_batch / value, 1.0, static_cast<double>(rules_.max_repetitions));
    const auto up = static_cast<int>(std::exp2(std::ceil(std::log2(min))));
    return std::clamp(up, 1, std::max(1, static_cast<int>(max)));
  }

  /// Corrects the batch length if it is far too long: the first repetition on an idle processor is not
  /// representative of batches on a busy one.
  bool stretched(const Timing& t) {
    const int fewer = wanted(t);
    if (each_ * repetitions_ < 4 * rules_.max_batch || fewer >= repetitions_) return false;
    repetitions_ = fewer;
    return true;
  }

  void warm_up() {
    const double start = clock();
    double before = 0;
    out_.steady = false;
    for (int batch = 0;; ++batch) {
      const Timing t = run(repetitions_);
      const double value = value_of(t);
      if (!usable(value)) return;
      if (stretched(t)) {
        before = 0;
        if (clock() - start > rules_.time / 2) return;
        continue;
      }
      const int more = wanted(t);
      // a batch of about the right length is kept, or the length would change forever
      const bool long_enough = more <= 2 * repetitions_;
      const bool agree = long_enough && before > 0 && std::fabs(value / before - 1) < rules_.steady;
      if (!long_enough) repetitions_ = more;
      before = value;
      const double spent = clock() - start;
      out_.steady = agree;
      if (spent >= rules_.min_warm_up && (agree || batch + 1 >= rules_.max_warm_up)) return;
      if (spent > rules_.time / 2) return;
    }
  }

  Device& device_;
  Job& job_;
  const Case& what_;
  const SampleRules& rules_;
  const Clock& now_;
  Sample out_;
  int repetitions_ = 1;
  double each_ = 0;  ///< seconds per repetition of the last batch on our clock
};

}  // namespace

Sample take_sample(Device& device, Job& job, const Case& what, const SampleRules& rules, const Clock& now) {
  return Sampler(device, job, what, rules, now).take();
}

namespace {

using Kind = Attempt::Kind;

/// Runs `work` and records how it failed, if it did.
Attempt caught(const std::function<void(Attempt&)>& work) {
  Attempt out;
  const auto failed = [&out](Kind kind, const std::exception& error) {
    out.kind = kind;
    out.reason = error.what();
  };
  try {
    work(out);
  } catch (const Unsupported& error) {
    failed(Kind::unsupported, error);
  } catch (const OutOfMemory& error) {
    failed(Kind::out_of_memory, error);
  } catch (const WrongResult& error) {
    failed(Kind::wrong_result, error);
  } catch (const DeviceFault& error) {
    failed(Kind::fault, error);
  } catch (const DeviceLost& error) {
    failed(Kind::lost, error);
  }
  return out;
}

/// Replaces the outcome of every process by the worst of all.
void agree(Device& device, Attempt& own) {
  constexpr std::array worst_first{Kind::lost, Kind::wrong_result, Kind::fault, Kind::out_of_memory, Kind::unsupported, Kind::refused};
  if (!device.any(own.kind != Kind::measured)) return;
  for (const Kind kind : worst_first) {
    if (!device.any(own.kind == kind)) continue;
    own.kind = kind;
    if (own.reason.empty()) own.reason = "another process reported it";
    return;
  }
}

}  // namespace

Attempt attempt(Device& device, const Case& what, const SampleRules& rules, const Clock& now) {
  std::unique_ptr<Job> job;
  Attempt out = caught([&](Attempt&) { job = device.prepare(what); });
  agree(device, out);
  if (out.kind != Kind::measured) return out;
  out = caught([&](Attempt& a) {
    a.sample = take_sample(device, *job, what, rules, now);
    a.in_graphs = job->in_graphs();
    if (a.sample.refused.empty()) return;
    a.kind = Kind::refused;
    a.reason = a.sample.refused;
  });
  agree(device, out);
  return out;
}

std::vector<State> states_of(Device& device, const Machine& machine) {
  std::vector<State> out;
  const Attempt seen = caught([&](Attempt&) {
    for (int unit = 0; unit < static_cast<int>(machine.units.size()); ++unit) out.push_back(device.state(unit));
  });
  if (seen.kind != Kind::measured) out.clear();
  return out;
}

}  // namespace fabricost::probes::measure
