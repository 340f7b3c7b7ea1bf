/// The error of predictions where nothing, or little, was measured: parts of the data are kept from the fit and predicted.

#include "own_prior.hpp"
#include "sections.hpp"
#include "table.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/calibrate/probes.hpp>

#include <fabricost/specs/load.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace accuracy {

using namespace fabricost::plan;

namespace {

struct Split {
  Points fitted, left;
};
Split split(const Points& all, const std::function<bool(const Point&)>& leave) {
  Split out;
  for (const Point& p : all.points) (leave(p) ? out.left : out.fitted).points.push_back(p);
  return out;
}

Points probed(const Points& of, std::size_t count) {
  Points out;
  for (const Point& p : of.points)
    for (std::size_t i = 0; i < count; ++i)
      if (p.collective == probes[i].op && p.bytes == probes[i].bytes && p.dtype == DataType::half &&
          p.gpus_per_node == (probes[i].pair ? 2 : 8))
        out.points.push_back(p);
  return out;
}

/// A cluster kept from the fit: its points, and its prediction from the others' transports.
struct WithoutCluster {
  Points own;
  Calibration others;

  WithoutCluster(const Measurements& data, const std::string& cluster) {
    Split parts = split(data.clusters, [&](const Point& p) { return p.system == cluster; });
    others = calibrate(parts.fitted, {.only = ConstantSet::transport, .starts = 1});
    own = std::move(parts.left);
  }
  /// Whether another cluster has its transport.
  [[nodiscard]] bool transport_known(const std::string& cluster) const {
    const System system = load_system(cluster);
    const Tier* nic = system.tier(TierRole::nic);
    return nic != nullptr && std::any_of(others.sets.begin(), others.sets.end(),
                                         [&](const CalibratedSet& set) { return set.transport.family() == nic->transport.family(); });
  }
  void blind(System& system) const {
    apply_transport_mean(system, others);
    apply_calibration(system, others);
  }
  [[nodiscard]] ValidationReport predicted(const Points& points) const {
    return validate(points, {.adjust = [this](System& system) { blind(system); }});
  }
  /// The same once `seen` of the cluster have been measured. \throws RequestError when none of them can be fitted
  [[nodiscard]] ValidationReport predicted(const Points& points, const Points& seen, const std::string& cluster) const {
    const Calibration fit = calibrate(seen, {.system = cluster, .adjust = [this](System& system) { blind(system); }});
    return validate(points, {.adjust = [&](System& system) {
                      blind(system);
                      apply_calibration(system, fit);
                    }});
  }
};

}  // namespace

std::string generations_left_out(const Measurements& data) {
  const std::vector<std::string> systems{"dgx-a100", "dgx-h100", "dgx-b200"};
  const std::vector<std::size_t> counts{0, 2, 3, 5, 8, 12};
  std::map<std::size_t, std::vector<ComparedPoint>> together;
  std::map<std::string, std::map<std::size_t, ErrorSummary>> alone;
  for (const std::string& left : systems) {
    const Split parts = split(data.nvlink, [&](const Point& p) { return p.system == left; });
    const Calibration others = fit_with_own_prior(parts.fitted);
    const auto blind = [&](System& system) { apply_mean(others, system); };
    for (const std::size_t n : counts) {
      ValidationOptions options{.adjust = blind};
      Calibration own;
      if (n > 0) {
        own = calibrate(probed(parts.left, n), {.system = left, .adjust = blind});
        options.adjust = [&](System& system) {
          blind(system);
          apply_calibration(system, own);
        };
      }
      ValidationReport report = validate(parts.left, options);
      alone[left][n] = report.total;
      auto& all = together[n];
      all.insert(all.end(), report.points.begin(), report.points.end());
    }
  }
  std::string out =
      "## A generation left out\n\nThe joint fit of the other two generations gives the prior (geometric mean, rates by their share of the "
      "one-way rate); "
      "then a few points\nof the generation left out (`calibrate/probes.hpp`, what `measure --quick` runs). Median / mean %, and how many "
      "measurements\n"
      "the interval held. The two are fitted with their own mean as prior, not with the shipped one, which is the mean of all three; how "
      "far\nconstants may lie from it, and which points to probe, was chosen on these same three.\n\n| points of it | all three | in the "
      "interval | dgx-a100 | dgx-h100 | dgx-b200 |\n|---|---|---|---|---|---|\n";
  for (const std::size_t n : counts) {
    const ErrorSummary all = summarise(together[n]);
    out += fmt::format("| {} | {} | {:.0f} % |",
                       n == 0   ? "none (blind)"
                       : n == 2 ? "2 latencies"
                       : n == 3 ? "and 1 bandwidth"
                                : fmt::format("{}", n),
                       pair(all), 100 * all.interval_coverage);
    for (const std::string& system : systems) out += fmt::format(" {} |", pair(alone[system][n]));
    out += "\n";
  }
  return out + "\n";
}

std::string parts_left_out(const Measurements& data) {
  std::string out = "## Ranks, sizes and types left out\n\nFitted without them, predicted on them.\n\n" + heading("left out");
  const auto without = [&](std::string_view what, const std::function<bool(const Point&)>& leave) {
    const Split parts = split(data.nvlink, leave);
    const Calibration rest = calibrate(parts.fitted);
    out += row(what, validate(parts.left, {.adjust = [&](System& system) { apply_calibration(system, rest); }}).total);
  };
  for (const int n : {2, 4, 8}) without(fmt::format("{} ranks", n), [n](const Point& p) { return p.gpus_per_node == n; });
  without("every second size", [](const Point& p) { return std::ilogb(p.bytes) % 2 == 0; });
  without("8-bit types", [](const Point& p) { return is_byte_wide(p.dtype); });
  for (const Collective op : {Collective::reduce_scatter, Collective::all_reduce})
    without(name(op), [op](const Point& p) { return p.collective == op; });
  return out + "\n";
}

/// The distance of a cluster's repeated measurements from their median: no model can be nearer to them. Point by point, as merge_repeats
/// joins them: what repeats have in common is in the merged point.
std::string repeats_of(const Measurements& data, const std::string& cluster) {
  const auto key = [](const Point& p) {
    return std::tuple(p.nodes, p.gpus_per_node, p.collective, p.dtype, p.bytes, p.library.str(), p.gpu_direct, p.algorithm, p.protocol);
  };
  std::map<decltype(key(Point{})), std::pair<double, int>> medians;
  for (const Point& p : data.clusters.points)
    if (p.system == cluster) medians[key(p)] = {p.seconds, p.repeats};
  std::vector<Outcome> repeats;
  for (const Point& p : data.cluster_repeats.points) {
    const auto found = p.system == cluster ? medians.find(key(p)) : medians.end();
    if (found != medians.end() && found->second.second > 1) repeats.push_back({found->second.first, p.seconds, 0, 0});
  }
  return repeats.empty() ? "" : pair(summarise(repeats));
}

/// Averages over clusters of the figures of their rows.
struct Averages {
  std::array<double, 6> sums{};
  int clusters = 0;
  void add(const std::array<double, 6>& figures) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += figures[i];
    ++clusters;
  }
  /// The median and mean at a place.
  [[nodiscard]] std::string at(std::size_t place) const {
    return fmt::format("{:.1f} / {:.1f}", sums[2 * place] / clusters, sums[2 * place + 1] / clusters);
  }
};

namespace {

/// How wide intervals of clusters left out are, and how wide they would have to be, by transport.
std::string widths_by_transport(const std::vector<ComparedPoint>& left_out) {
  std::map<std::string, std::vector<const ComparedPoint*>> by_transport;
  for (const ComparedPoint& p : left_out) {
    const System system = load_system(p.point.system.str());
    by_transport[std::string{system.tier(TierRole::nic)->transport.family().view()}].push_back(&p);
  }
  std::string out =
      "\nThe intervals of these points, left out, by transport: how far their ends are apart (the upper over the lower, geometric mean), "
      "and how "
      "far they\nwould have to be to hold nine in ten, all drawn in or out alike.\n\n| transport | clusters | points | ends apart | in the "
      "interval | nine in ten |\n|---|---|---|---|---|---|\n";
  for (const auto& [transport, points] : by_transport) {
    std::set<std::string> names;
    std::vector<double> misses;  // distances from the prediction over those of the interval's end
    double width = 0;
    for (const ComparedPoint* p : points) {
      names.insert(p->point.system.str());
      const double measured = p->point.seconds, predicted = p->prediction.seconds;
      const double end = measured < predicted ? p->prediction.low : p->prediction.high;
      misses.push_back(std::log(measured / predicted) / std::log(end / predicted));
      width += std::log(p->prediction.high / p->prediction.low) / static_cast<double>(points.size());
    }
    const auto nine_in_ten = misses.begin() + static_cast<std::ptrdiff_t>(std::ceil(0.9 * static_cast<double>(misses.size()))) - 1;
    std::nth_element(misses.begin(), nine_in_ten, misses.end());
    out += fmt::format("| {} | {} | {} | {:.2f} | {:.0f} % | {:.2f} |\n", transport, names.size(), points.size(), std::exp(width),
                       100 * summarise(points).interval_coverage, std::exp(width * *nine_in_ten));
  }
  return out;
}

}  // namespace

std::string clusters(const Measurements& data) {
  const Calibration all = calibrate(data.clusters, {.only = ConstantSet::transport});
  const ValidationReport shipped = validate(data.clusters);
  std::set<std::string> names;
  for (const ComparedPoint& p : shipped.points) names.insert(p.point.system.str());
  std::map<std::string, ErrorSummary> as_shipped;
  for (const ErrorGroup& g : shipped.by_system) as_shipped[g.name] = g.errors;
  std::string out =
      "## Public clusters, 2 to 360 nodes\n\nHealthy runs of nccl-tests on named machines, more than one node. Median / mean %: with the "
      "transport's constants fitted without this\ncluster (its transport nowhere else: those of a relative, or the mean of its kind of "
      "network), and how many of its points that interval held;\nthe same after one point of it (its smallest all-reduce of 1 KiB or more "
      "on its fewest nodes); with the shipped constants, which these points were\nfitted to (in sample). The last column is how far "
      "repeated measurements lie from their median: no model can be nearer to them. The interval score of what is left\n"
      "out is the mean width of its intervals in log time, and 20 times the distance of points outside.\n\n"
      "| cluster | points | left out | in the interval | interval score | left out, one point | in sample | repeats |\n"
      "|---|---|---|---|---|---|---|---|\n";
  Averages average, elsewhere;  // of all, and of those whose transport another cluster measured
  std::vector<ComparedPoint> together;
  for (const std::string& left : names) {
    const WithoutCluster cluster(data, left);
    const ValidationReport left_out = cluster.predicted(cluster.own);
    const Point* first = nullptr;
    for (const Point& p : cluster.own.points)
      if ((p.collective == Collective::all_reduce || first == nullptr) && p.bytes >= 1024 &&
          (first == nullptr || std::make_pair(p.nodes, p.bytes) < std::make_pair(first->nodes, first->bytes) ||
           (first->collective != Collective::all_reduce && p.collective == Collective::all_reduce)))
        first = &p;
    ErrorSummary after = left_out.total;  // where it has no such point, or one whose algorithm has no form to fit
    if (first != nullptr) {
      Points one;
      one.points.push_back(*first);
      try {
        after = cluster.predicted(cluster.own, one, left).total;
      } catch (const RequestError&) {
        after = left_out.total;
      }
    }
    const ErrorSummary& before = as_shipped[left];
    out += fmt::format("| {} | {} | {} | {:.0f} % | {:.2f} | {} | {} | {} |\n", left, before.points, pair(left_out.total),
                       100 * left_out.total.interval_coverage, left_out.total.interval_score, pair(after), pair(before),
                       repeats_of(data, left));
    const std::array<double, 6> figures{left_out.total.median_ape, left_out.total.mape, after.median_ape, after.mape,
                                        before.median_ape,         before.mape};
    average.add(figures);
    if (cluster.transport_known(left)) elsewhere.add(figures);
    together.insert(together.end(), left_out.points.begin(), left_out.points.end());
  }
  const ErrorSummary whole = summarise(together);
  out += fmt::format(
      "| **average over clusters** | {} | {} | {:.0f} % of all points | {:.2f} of all points | {} | {} | |\n"
      "| the {} whose transport another cluster measured | | {} | | | {} | {} | |\n",
      shipped.total.points, average.at(0), 100 * whole.interval_coverage, whole.interval_score, average.at(1), average.at(2),
      elsewhere.clusters, elsewhere.at(0), elsewhere.at(1), elsewhere.at(2));
  out += widths_by_transport(together);
  out += not_priced(shipped);
  out += fmt::format("\nAll transports fitted together to these points: {:.1f} / {:.1f} %.\n\n", all.median_after, all.mean_after);
  out += fmt::format(
      "{} of {} measured times are in none of these figures and in no fit (`data/measurements/left-out.csv`). With the shipped "
      "constants:\n\n| left out | why | points | median / mean % | in the interval |\n|---|---|---|---|---|\n",
      data.left, data.measured);
  for (const Measurements::Left& one : data.left_out) {
    const ErrorSummary e = validate(one.points).total;
    out += fmt::format("| `{}` | {} | {} | {} | {:.0f} % |\n", one.term, one.why, e.points, pair(e), 100 * e.interval_coverage);
  }
  return out;
}

namespace {

/// Clusters of three and more numbers of nodes, the largest kept from the fit of all clusters.
std::string largest_nodes(const Measurements& data, const std::map<std::string, std::set<int>>& counts) {
  std::string out =
      "The same where all but a cluster's largest number of nodes are in the fit of all clusters:\n\n| cluster | nodes | points | "
      "the largest, left out | in the interval | interval score |\n|---|---|---|---|---|---|\n";
  double median = 0, mean = 0;
  int counted = 0;
  for (const auto& [cluster, nodes] : counts) {
    if (nodes.size() < 3) continue;
    const Split parts = split(data.clusters, [name = cluster, most = *nodes.rbegin()](const Point& p) {
      return p.system == name && p.nodes == most;
    });
    const Calibration fit = calibrate(parts.fitted, {.only = ConstantSet::transport, .starts = 1});
    const ErrorSummary e = validate(parts.left, {.adjust = [&](System& system) { apply_calibration(system, fit); }}).total;
    out += fmt::format("| {} | {} -> {} | {} | {} | {:.0f} % | {:.2f} |\n", cluster, *std::next(nodes.rbegin()), *nodes.rbegin(),
                       e.points, pair(e), 100 * e.interval_coverage, e.interval_score);
    median += e.median_ape, mean += e.mape;
    ++counted;
  }
  if (counted > 0) out += fmt::format("| **average over clusters** | | | {:.1f} / {:.1f} | | |\n\n", median / counted, mean / counted);
  return out;
}

}  // namespace

std::string more_nodes(const Measurements& data) {
  std::map<std::string, std::set<int>> counts;
  for (const Point& p : data.clusters.points) counts[p.system.str()].insert(p.nodes);
  std::string out =
      "\n## A cluster's larger node counts\n\nThe transport's constants fitted without the cluster (blind), then its own sweep on the "
      "fewest nodes "
      "added; the larger node counts predicted.\n\n| cluster | nodes | points | blind | calibrated on the fewest nodes | in the interval "
      "|\n"
      "|---|---|---|---|---|---|\n";
  double sums[4] = {};
  int counted = 0;
  for (const auto& [left, nodes] : counts) {
    if (nodes.size() < 2) continue;
    const WithoutCluster cluster(data, left);
    const Split own = split(cluster.own, [min = *nodes.begin()](const Point& p) { return p.nodes > min; });
    const ErrorSummary before = cluster.predicted(own.left).total;
    const ErrorSummary after = cluster.predicted(own.left, own.fitted, left).total;
    out += fmt::format("| {} | {} -> {} | {} | {} | {} | {:.0f} % |\n", left, *nodes.begin(), *nodes.rbegin(), after.points, pair(before),
                       pair(after), 100 * after.interval_coverage);
    const double figures[4] = {before.median_ape, before.mape, after.median_ape, after.mape};
    for (int i = 0; i < 4; ++i) sums[i] += figures[i];
    ++counted;
  }
  if (counted > 0)
    out += fmt::format("| **average over clusters** | | | {:.1f} / {:.1f} | {:.1f} / {:.1f} | |\n\n", sums[0] / counted, sums[1] / counted,
                       sums[2] / counted, sums[3] / counted);
  return out + largest_nodes(data, counts);
}

}  // namespace accuracy
