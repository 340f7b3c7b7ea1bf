/// Runs the fit on prepared points and summarises its result.

#include "calibrate/preparation.hpp"
#include "text/quantile.hpp"

#include <fabricost/parameters/interval.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fabricost::core {

namespace {

using calibrating::error_of;
using calibrating::Preparation;

constexpr int enough_for_quantile = 20;
constexpr double rises = 1;  ///< percent that a median error may rise by in a fit, whose few points move it either way

double mean_of(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Percent, of the points that were fitted.
std::vector<double> errors_of(const Preparation& data, const Fit& fit) {
  std::vector<double> out;
  for (std::size_t s = 0; s < data.series.size(); ++s)
    for (std::size_t i = 0; i < data.series[s].bytes.size(); ++i)
      if (data.series[s].weight[i] > 0) out.push_back(error_of(fit.residuals[s][i]));
  return out;
}

/// Residuals and interval widths, by class, of the points a set is responsible for.
void sum_up(CalibratedSet& into, std::size_t block, const Preparation& data, const Fit& fit) {
  struct Members {
    std::vector<double> sizes, errors, squares, earlier;
  };
  std::map<std::string_view, Members> classes;
  std::vector<double> all;
  for (std::size_t s = 0; s < data.series.size(); ++s) {
    if (data.set_of[s] != block) continue;
    const Series& points = data.series[s];
    const auto member = interval_class(points.ran, points.op, points.fabric);
    const auto named = std::find_if(interval_widths.begin(), interval_widths.end(), [&](const NamedWidth& w) { return w.of == member; });
    Members* its = named == interval_widths.end() ? nullptr : &classes[named->key];  // priced from its schedule: no class of its own
    if (const auto old = data.earlier_errors.find(s); its != nullptr && old != data.earlier_errors.end())
      its->earlier.insert(its->earlier.end(), old->second.begin(), old->second.end());
    for (std::size_t i = 0; i < points.bytes.size(); ++i) {
      if (its != nullptr) its->squares.push_back(fit.deviation[s][i] * fit.deviation[s][i]);
      if (!(points.weight[i] > 0) && !points.of_relative) continue;
      all.push_back(error_of(fit.residuals[s][i]));
      if (its == nullptr) continue;
      its->sizes.push_back(std::fabs(fit.residuals[s][i]));
      its->errors.push_back(all.back());
    }
  }
  into.median_ape = quantile_of(all, 0.5);
  into.mape = mean_of(all);
  // residuals around the middle of several clusters hold how far another one lies from it, which errors of the constants hold again
  const bool of_clusters = data.own_name.empty() && into.set == ConstantSet::transport && into.systems.size() > 1;
  const bool others_measured = !data.own_name.empty() && into.set == ConstantSet::transport && !data.unproven[block];
  // what was measured on this machine before stays as sure, unless these points lie beyond it
  for (auto& [key, its] : classes) {
    const auto named =
        std::find_if(interval_widths.begin(), interval_widths.end(), [&, wanted = key](const NamedWidth& w) { return w.key == wanted; });
    into.contradicts |= !its.earlier.empty() && lower_median(its.earlier) > into.constants.interval.*named->of;
  }
  const bool stays = data.earlier[block] != 0 && !into.contradicts;
  if (stays && into.set == ConstantSet::transport) {
    const Constants& earlier = data.blocks[block].prior;
    into.most_nodes = std::max(into.most_nodes, earlier.most_nodes);
    into.smallest = std::min(into.smallest, units::B(earlier.transport_smallest));
    into.largest = std::max(into.largest, units::B(earlier.transport_largest));
  }
  if (stays)
    for (std::size_t place = 0; place < collective_names.size(); ++place)
      if (MeasuredOperations::has(data.earlier[block], place))
        add_measured(into.fitted_on, data.own_name, into.fitted_on.front().domain, place);
  for (const NamedWidth& width : interval_widths) {
    if (!classes.contains(width.key) && !(others_measured && width.set == into.set)) continue;
    const Members& its = classes[width.key];
    const bool enough = its.sizes.size() >= enough_for_quantile;
    double& half = into.constants.interval.*width.of;
    const double before = half;
    if (!others_measured || enough) {
      const double scatter = enough ? quantile_of(its.sizes, policy::fits::quantile) : half;
      half = std::max(policy::fits::min_width, std::hypot(scatter, nine_in_ten * std::sqrt(mean_of(its.squares))));
    }
    if (of_clusters) half = std::max(policy::fits::min_width, policy::fits::other_cluster * half);
    if (!enough && data.unproven[block]) half = std::hypot(half, policy::fits::unproven_shape);
    if (stays) half = std::min(half, before);
    into.classes.push_back({.key = width.key,
                            .points = static_cast<int>(its.sizes.size()),
                            .median_ape = quantile_of(its.errors, 0.5),
                            .mape = mean_of(its.errors),
                            .width = half});
  }
}

void list_constants(CalibratedSet& into, std::size_t block, const Block& prior, const Fit& fit) {
  for (const Unknown& u : fit.unknowns) {
    if (std::find(u.blocks.begin(), u.blocks.end(), block) == u.blocks.end()) continue;
    const Parameter& p = *u.parameter;
    into.fitted.push_back({.key = p.key,
                           .measure = p.measure(),
                           .value = p.value(into.constants),
                           .prior = p.value(prior.prior),
                           .deviation = u.deviation,
                           .prior_deviation = u.prior_deviation,
                           .determined = u.determined(),
                           .shared = u.blocks.size() > 1,
                           .partner = u.partner >= 0 ? fit.unknowns[static_cast<std::size_t>(u.partner)].parameter->key : "",
                           .correlation = u.correlation});
  }
  const auto row = [&](const FittedConstant& c) {
    const std::span<const Parameter> table = parameters_of(into.set);
    return std::find_if(table.begin(), table.end(), [&](const Parameter& p) { return p.key == c.key; }) - table.begin();
  };
  std::sort(into.fitted.begin(), into.fitted.end(), [&](const FittedConstant& a, const FittedConstant& b) { return row(a) < row(b); });
}

}  // namespace

Calibration calibrate(const Points& points, const CalibrateOptions& options) {
  Preparation data(points, options);
  Calibration out;
  out.system = data.own_name;
  out.skipped = std::move(data.skipped);
  out.set_aside = std::move(data.set_aside);
  if (data.blocks.empty()) {
    std::string why;
    for (const Skipped& s : out.skipped) why += fmt::format("\n  {} row{}: {}", s.rows, s.rows == 1 ? "" : "s", s.reason);
    for (const SetAside& s : out.set_aside) {
      if (why.size() > 2000) break;  // enough to see what is wrong
      why += fmt::format("\n  {} {:.0f} B: {} ({})", name(s.point.collective), s.point.bytes, name(s.doubt), s.reason);
    }
    throw RequestError(fmt::format("no point is left to fit{}{}", why.empty() ? ": give runs of collectives on a known system" : ":", why));
  }
  const bool joint = options.system.empty();
  FitOptions how{.starts = options.starts > 0 ? options.starts : joint ? 3 : 1, .share = joint};
  for (const calibrating::Held& h : data.held) how.hold.push_back(h.parameter);
  if (std::none_of(data.series.begin(), data.series.end(), [](const Series& one) { return one.fabric.in_switch; }))
    for (const Parameter& p : parameters_of(ConstantSet::scale_up))
      if (p.key.starts_with("nvls.")) how.hold.push_back(&p);
  Fit fit = fit_constants(data.blocks, data.machines, data.series, how);
  out.sets = std::move(data.sets);
  out.median_before = quantile_of(data.before, 0.5);
  out.mean_before = mean_of(data.before);
  std::vector<double> after = errors_of(data, fit);
  const double median = quantile_of(after, 0.5), mean = mean_of(after);
  if (options.hold.empty() && median > out.median_before + rises && mean > out.mean_before) {  // what is held may make it worse
    out.worse = {median, mean};
    for (const Block& block : data.blocks)
      for (const Parameter& p : parameters_of(block.set)) how.hold.push_back(&p);
    fit = fit_constants(data.blocks, data.machines, data.series, how);
    after = errors_of(data, fit);
  }
  for (std::size_t b = 0; b < out.sets.size(); ++b) {
    out.sets[b].constants = fit.blocks[b];
    sum_up(out.sets[b], b, data, fit);
    list_constants(out.sets[b], b, data.blocks[b], fit);
  }
  out.points = static_cast<int>(after.size());
  out.median_after = quantile_of(after, 0.5);
  out.mean_after = mean_of(after);
  out.constants = static_cast<int>(fit.unknowns.size());
  for (const Unknown& u : fit.unknowns) out.determined += u.determined() ? 1 : 0;
  out.host_held = static_cast<int>(data.host_launches.size());
  if (out.host_held > 0) out.host_launch = lower_median(data.host_launches);
  out.converged = fit.converged;
  out.steps = fit.steps;
  return out;
}

}  // namespace fabricost::core
