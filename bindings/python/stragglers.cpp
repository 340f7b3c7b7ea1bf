/// \file stragglers.cpp
/// What waiting for the slowest of many ranks costs: fc.stragglers.

#include "asked.hpp"
#include "bindings.hpp"
#include "record.hpp"

#include <fabricost/answers/waiting_ranks.hpp>
#include <fabricost/readings/iteration_times.hpp>

#include <pybind11/numpy.h>

#include <cmath>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

constexpr double longest_run = 1e12;  ///< s
using Known = std::optional<double>;

struct AtRanks {
  double ranks = 0, step_seconds = 0, efficiency = 0, slow_factor = 1;
  bool operator==(const AtRanks&) const = default;
};
struct SlowRank {
  std::string rank{};
  double mean_seconds = 0;
  bool operator==(const SlowRank&) const = default;
};
struct Waits {
  double ranks = 0, mean_seconds = 0, deviation_seconds = 0, step_seconds = 0, efficiency = 0;
  std::optional<std::string> shape{};
  std::optional<int> barriers{};
  Known times{}, p50_seconds{}, p99_seconds{}, slowest_seconds{};
  int measured_ranks = 0;
  std::vector<SlowRank> slow_ranks{};
  Known somebody_late{}, slow_factor{}, slow_step_seconds{}, network_factor{}, rails_step_seconds{};
  std::vector<AtRanks> by_ranks{};
};

/// A path, or numbers of seconds.
void read_times(WaitingRanks& out, const py::object& times) {
  if (PyUnicode_Check(times.ptr()) != 0 || py::hasattr(times, "__fspath__")) {
    const py::object path = py::module_::import("os").attr("fspath")(times);
    out.times = read_iteration_times(text(path, "times"));
  } else {
    const py::array all = plain_array(times, "times", "s");
    if (all.attr("dtype").attr("kind").cast<std::string>().find_first_of("fiu") == std::string::npos)
      throw_type("times", "a path, or numbers of seconds,", times);
    const auto seconds = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(all);
    if (!seconds) throw py::error_already_set();
    out.times.seconds.assign(seconds.data(), seconds.data() + seconds.size());
  }
  try {
    out.measured.emplace(out.times.seconds);
  } catch (const RequestError& error) {
    throw RequestError(std::string{"times: "} + error.what());
  }
}

[[nodiscard]] std::vector<SlowKind> slow_kinds(const py::object& slow) {
  std::vector<SlowKind> out;
  if (PyUnicode_Check(slow.ptr()) != 0 || !py::isinstance<py::sequence>(slow)) throw_type("slow", "a list of (share, factor)", slow);
  for (const py::handle one : slow) {
    if (!py::isinstance<py::sequence>(one) || PyUnicode_Check(one.ptr()) != 0 || py::len(one) != 2)
      throw_type("slow", "a list of (share, factor)", one);
    const auto pair = py::reinterpret_borrow<py::sequence>(one);
    out.push_back({real(py::object(pair[0]), "slow", 0, 1), real(py::object(pair[1]), "slow", 1, 1e6)});
  }
  return out;
}

[[nodiscard]] Waits answered(const WaitingRanks& a) {
  const double step = a.step(a.ranks), slow = slow_factor(a.slow, a.ranks);
  Waits out{
      .ranks = a.ranks, .mean_seconds = a.mean(), .deviation_seconds = a.deviation(), .step_seconds = step, .efficiency = a.mean() / step};
  if (a.measured) {
    out.times = static_cast<double>(a.measured->count());
    out.p50_seconds = a.measured->quantile(0.5);
    out.p99_seconds = a.measured->quantile(0.99);
    out.measured_ranks = a.times.ranks;
    double sum = 0;
    for (const double one : a.times.slowest) sum += one;
    if (!a.times.slowest.empty()) out.slowest_seconds = sum / static_cast<double>(a.times.slowest.size());
    for (const std::size_t i : slow_ranks(a.times)) out.slow_ranks.push_back({a.times.rank_names[i], a.times.rank_means[i]});
  } else {
    out.shape = std::string{jitter_shape_names[static_cast<std::size_t>(a.jitter.shape)]};
    out.barriers = a.barriers;
  }
  if (!a.slow.empty()) {
    double share = 0;
    for (const SlowKind& kind : a.slow) share += kind.share;
    out.somebody_late = somebody_late(std::min(1.0, share), a.ranks);
    out.slow_factor = slow;
    out.slow_step_seconds = step * slow;
  }
  if (a.rails > 0) {
    out.network_factor = lost_rail_factor(a.rails, a.lost, a.reroute);
    out.rails_step_seconds = network_slowed(step, a.network, *out.network_factor);
  }
  for (const double n : shown_ranks(a.ranks)) out.by_ranks.push_back({n, a.step(n), a.mean() / a.step(n), slow_factor(a.slow, n)});
  return out;
}

[[nodiscard]] Waits stragglers(const py::object& times, const py::object& ranks, const py::object& mean, const py::object& deviation,
                               const py::object& p50, const py::object& p99, const py::object& shape, const py::object& barriers,
                               const py::object& slow, const py::object& rails, const py::object& rails_lost, const py::object& reroute,
                               const py::object& network_share) {
  const bool by_mean = !mean.is_none() || !deviation.is_none(), by_percentile = !p50.is_none() || !p99.is_none();
  if (!times.is_none() + by_mean + by_percentile != 1)
    throw RequestError("which times? Give measured ones, or mean_seconds and deviation_seconds, or p50_seconds and p99_seconds");
  needed(ranks, "ranks", "ranks=1024");
  WaitingRanks out;
  out.ranks = whole(ranks, "ranks");
  const auto form = word_or_none<JitterShape>(shape, "shape", "a distribution", jitter_shape_names)
                        .value_or(by_mean ? JitterShape::normal : JitterShape::lognormal);
  const auto seconds = [](const py::object& value, const char* name) { return real(value, name, 0, longest_run); };
  if (by_mean) {
    if (mean.is_none() || deviation.is_none()) throw RequestError("mean_seconds and deviation_seconds go together");
    out.jitter = {form, seconds(mean, "mean_seconds"), seconds(deviation, "deviation_seconds")};
    if (!(out.jitter.mean > 0)) throw RequestError("mean_seconds: a time is above 0");
  } else if (by_percentile) {
    if (p50.is_none() || p99.is_none()) throw RequestError("p50_seconds and p99_seconds go together");
    out.jitter = jitter_of_percentiles(seconds(p50, "p50_seconds"), seconds(p99, "p99_seconds"), form);
  } else {
    if (!shape.is_none()) throw RequestError("shape is for mean_seconds or p50_seconds; measured times have their own");
    if (!barriers.is_none()) throw RequestError("barriers cuts a distribution in parts; measured times are cut as they were measured");
    read_times(out, times);
  }
  out.barriers = whole_or_none(barriers, "barriers").value_or(1);
  out.slow = slow_kinds(slow);
  out.rails = whole_or_none(rails, "rails").value_or(0);
  out.lost = whole_or_none(rails_lost, "rails_lost").value_or(1);
  out.reroute = word<LostRail>(reroute, "reroute", "a way of a lost rail's traffic", lost_rail_names);
  if (out.rails == 0 && (!rails_lost.is_none() || !network_share.is_none()))
    throw RequestError("how many rails are there? Add rails, as in rails=8");
  if (out.rails > 0) {
    if (network_share.is_none())
      throw RequestError("which share of a step waits for the network? Add network_share, as in network_share=0.2");
    out.network = real(network_share, "network_share", 0, 1);
  }
  return searched([&] { return answered(out); });
}

}  // namespace

void add_stragglers(py::module_& module) {
  add_record<AtRanks>(module, "StragglersAtRanks", "The same over another number of ranks.",
                      field("ranks", &AtRanks::ranks, "Ranks that wait for each other."),
                      field("step_seconds", &AtRanks::step_seconds, "Expected time of the slowest, s."),
                      field("efficiency", &AtRanks::efficiency, "Mean over that."),
                      field("slow_factor", &AtRanks::slow_factor, "What slow kinds add to it, a factor."))
      .def("__repr__", [](const AtRanks& r) { return fmt::format("{:.0f} ranks: {:.4g} s", r.ranks, r.step_seconds); });
  add_record<SlowRank>(module, "SlowRank", "A rank that is slow all the time: 5 % above the middle one.",
                       field("rank", &SlowRank::rank, "Its name."), field("mean_seconds", &SlowRank::mean_seconds, "Its mean, s."))
      .def("__repr__", [](const SlowRank& r) { return fmt::format("rank {}: {:.4g} s", r.rank, r.mean_seconds); });
  using W = Waits;
  add_record<W>(
      module, "Stragglers", "What a step waits for the slowest of its ranks. Made by stragglers.",
      field("ranks", &W::ranks, "Ranks that wait for each other."), field("mean_seconds", &W::mean_seconds, "Of one rank's time, s."),
      field("deviation_seconds", &W::deviation_seconds, "Its standard deviation, s."),
      field("step_seconds", &W::step_seconds, "Expected time of the slowest, s: int x d F(x)^n."),
      field("efficiency", &W::efficiency, "mean_seconds / step_seconds."),
      field("shape", &W::shape, "normal, lognormal or exponential; None: measured."),
      field("barriers", &W::barriers, "Waits a step; None: measured."),
      field("times", &W::times, "How many times were measured; None: a distribution was given."),
      field("p50_seconds", &W::p50_seconds, "Their median, s."), field("p99_seconds", &W::p99_seconds, "Their 99th percentile, s."),
      field("slowest_seconds", &W::slowest_seconds, "Mean of the slowest rank of each iteration, s; None: ranks were not told apart."),
      field("measured_ranks", &W::measured_ranks, "Ranks that were told apart."),
      field("slow_ranks", &W::slow_ranks, "Those slow all the time, a list of SlowRank."),
      field("somebody_late", &W::somebody_late, "Share of steps with a slow one: 1 - (1 - q)^n; None: no slow kinds."),
      field("slow_factor", &W::slow_factor, "Expected factor of slow kinds on a step."),
      field("slow_step_seconds", &W::slow_step_seconds, "step_seconds x slow_factor."),
      field("network_factor", &W::network_factor, "Factor of lost rails on the network's part; None: no rails were given."),
      field("rails_step_seconds", &W::rails_step_seconds, "A step with them, s."),
      field("by_ranks", &W::by_ranks, "Other numbers of ranks, a list of StragglersAtRanks."))
      .def("__repr__", [](const W& w) {
        return fmt::format("the slowest of {:.0f} ranks takes {:.4g} s, {:.1f} % more than the mean", w.ranks, w.step_seconds,
                           100 * (1 / w.efficiency - 1));
      });
  const py::none none;
  module.def("stragglers", &stragglers, "times"_a = none, py::kw_only(), "ranks"_a = none, "mean_seconds"_a = none,
             "deviation_seconds"_a = none, "p50_seconds"_a = none, "p99_seconds"_a = none, "shape"_a = none, "barriers"_a = none,
             "slow"_a = py::tuple(), "rails"_a = none, "rails_lost"_a = none, "reroute"_a = "spread", "network_share"_a = none,
             R"(stragglers(times=None, *, ranks, mean_seconds=None, deviation_seconds=None, p50_seconds=None, p99_seconds=None, shape=None,
    barriers=None, slow=(), rails=None, rails_lost=None, reroute='spread', network_share=None)
--

What a step waits for the slowest of its ranks, a Stragglers: E[max of n] = int x d F(x)^n, ranks independent.

times: measured seconds, an array or a file (one a line, or a CSV with time_s, time_ms or time_us, and iteration and rank).
Or a distribution: mean_seconds and deviation_seconds, or p50_seconds and p99_seconds, with shape normal (default with a mean),
lognormal (default with percentiles) or exponential, cut by so many barriers a step.
slow: (share, factor) of ranks that are slow by chance. rails, rails_lost, reroute ('spread' or 'neighbour'), network_share: NICs of a node,
how many are down, where their traffic goes, which share of a step waits for the network.

>>> import fabricost as fc
>>> fc.stragglers(ranks=4, mean_seconds=1, deviation_seconds=1, shape="exponential").step_seconds  # 1 + 1/2 + 1/3 + 1/4
2.083333333333333
)");
}

}  // namespace fabricost::python
