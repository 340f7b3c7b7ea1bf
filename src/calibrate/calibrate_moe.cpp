/// \file calibrate_moe.cpp
/// Fitting the constants of expert-exchange kernels, by GPU generation.

#include "io/machines.hpp"
#include "io/quantile.hpp"

#include <fabricost/calibrate/kernel_fit.hpp>
#include <fabricost/io/load.hpp>
#include <fabricost/io/moe_kernel_rows.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace fabricost {

namespace {

std::string_view section_of(const MoeQuestion& q) {
  const bool dispatch = q.phase == MoePhase::dispatch;
  switch (q.kernel) {
    case MoeKernel::deepep_normal: return dispatch ? "normal_dispatch" : "normal_combine";
    case MoeKernel::deepep_low_latency: return dispatch ? "low_latency_dispatch" : "low_latency_combine";
    case MoeKernel::trtllm_one_sided: return dispatch ? "one_sided_dispatch" : "one_sided_combine";
    case MoeKernel::trtllm_two_sided:
      return q.phase == MoePhase::prepare    ? "prepare"
             : dispatch                      ? "two_sided_dispatch"
             : q.precision == Precision::fp4 ? "two_sided_combine_fp4"
                                             : "two_sided_combine";
    case MoeKernel::nccl: break;
  }
  return {};
}

constexpr std::array<std::string_view, 4> class_names{"deepep_normal", "deepep_low_latency", "trtllm_one_sided", "trtllm_two_sided"};

struct Ape {
  double median = 0, mean = 0;
};
Ape ape_of(std::vector<double> logs) {
  double sum = 0;
  for (double& l : logs) sum += l = 100 * std::fabs(std::expm1(l));
  std::sort(logs.begin(), logs.end());
  return {io::quantile(logs, 0.5), logs.empty() ? 0 : sum / static_cast<double>(logs.size())};
}

}  // namespace

MoeKernelFit calibrate_moe_kernels(const std::vector<MoeKernelRow>& all, const std::vector<std::string>& leave_out) {
  MoeKernelFit out;
  std::vector<Generation> generations;
  std::map<std::string, std::optional<System>> systems;
  std::vector<KernelSample> samples;
  std::vector<const MoeKernelRow*> rows;
  const std::vector<MoeKernelRow> merged = merge_repeats(all);
  for (const MoeKernelRow& row : merged) {
    std::string why = row.skipped;
    const auto left = [&](const std::string& beginning) { return row.source.starts_with(beginning); };
    if (why.empty() && std::any_of(leave_out.begin(), leave_out.end(), left)) why = "left out as asked";
    if (why.empty() && row.question.kernel == MoeKernel::nccl) why = "NCCL's exchange has constants of its own";
    try {
      if (why.empty()) {
        std::optional<System>& system = systems[row.system];
        if (!system) system = load_system(row.system, {}, "none");
        const MoePrediction p = predict(*system, row.question);  // can it run at all?
        if (p.placement.domains() > 1) throw RequestError("across domains: constants are those inside one");
        MoePrediction scratch;
        scratch.precision = p.precision;
        const MoeWork work = detail::work_of(*system, row.question, p.placement, scratch);
        const auto at = std::find(generations.begin(), generations.end(), system->gpu.generation);
        const auto index = static_cast<std::size_t>(at - generations.begin());
        if (at == generations.end()) generations.push_back(system->gpu.generation);
        const bool fp4 = p.precision == Precision::fp4;
        samples.push_back({index, section_of(row.question),
                           [work, fp4, phase = row.question.phase, kernel = row.question.kernel](const Constants& c) {
                             return price_kernel(work, c.moe, phase, kernel, fp4).seconds();
                           },
                           row.seconds});
        rows.push_back(&row);
      }
    } catch (const RequestError& error) {
      why = io::first_line(error.what());
    }
    if (!why.empty()) count_skipped(out.skipped, why, row.repeats);
  }
  if (samples.empty())
    throw RequestError("no row of the files can be fitted: times of DeepEP or TensorRT-LLM kernels on known machines are needed");
  const std::vector<Constants> prior(generations.size());
  std::vector<double> before;
  for (const KernelSample& s : samples) before.push_back(std::log(s.seconds(prior[s.generation]) / s.measured));
  const KernelFit fit = fit_kernels(ConstantSet::moe, prior, samples);

  out.rows = static_cast<int>(samples.size());
  out.constants = static_cast<int>(fit.unknowns.size());
  for (const KernelUnknown& x : fit.unknowns) out.determined += x.determined ? 1 : 0;
  out.steps = fit.steps;
  out.converged = fit.converged;
  const Ape first = ape_of(before), last = ape_of(fit.residuals);
  out.median_before = first.median, out.mean_before = first.mean;
  out.median_ape = last.median, out.mape = last.mean;
  for (std::size_t g = 0; g < generations.size(); ++g) {
    CalibratedSet set;
    set.set = ConstantSet::moe;
    set.generation = generations[g];
    set.name = fmt::format("moe-{}", name(set.generation));
    set.constants = fit.generations[g];
    std::set<std::string> measured;
    std::vector<double> residuals;
    std::array<std::vector<double>, class_names.size()> by_class;
    set.fewest_ranks = 1 << 30;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].generation != g) continue;
      measured.insert(rows[i]->system);
      residuals.push_back(fit.residuals[i]);
      by_class[static_cast<std::size_t>(rows[i]->question.kernel)].push_back(fit.residuals[i]);
      set.fewest_ranks = std::min(set.fewest_ranks, rows[i]->question.ranks);
      set.most_ranks = std::max(set.most_ranks, rows[i]->question.ranks);
    }
    set.systems.assign(measured.begin(), measured.end());
    set.points = static_cast<int>(residuals.size());
    const Ape whole = ape_of(residuals);
    set.median_ape = whole.median, set.mape = whole.mean;
    for (std::size_t k = 0; k < class_names.size(); ++k) {
      if (by_class[k].empty()) continue;
      std::vector<double> sizes;
      for (const double r : by_class[k]) sizes.push_back(std::fabs(r));
      std::sort(sizes.begin(), sizes.end());
      const Ape its = ape_of(by_class[k]);
      set.classes.push_back(
          {class_names[k], static_cast<int>(sizes.size()), its.median, its.mean, std::max(0.01, io::quantile(sizes, 0.9))});
      const auto width =
          std::find_if(interval_widths.begin(), interval_widths.end(), [&](const NamedWidth& w) { return w.key == class_names[k]; });
      set.constants.interval.*(width->of) = set.classes.back().width;
    }
    for (const KernelUnknown& x : fit.unknowns) {
      if (x.of >= 0 && static_cast<std::size_t>(x.of) != g) continue;
      set.fitted.push_back({.key = x.parameter->key,
                            .measure = x.parameter->measure,
                            .value = x.parameter->value(set.constants),
                            .prior = x.parameter->value(Constants{}),
                            .deviation = x.deviation,
                            .prior_deviation = x.parameter->spread,
                            .determined = x.determined,
                            .shared = x.of < 0});
    }
    out.generations.push_back(std::move(set));
  }
  return out;
}

}  // namespace fabricost
