/// Fits the constants of expert-exchange kernels by GPU generation.

#include "evaluation/kernel_sets.hpp"
#include "evaluation/rows.hpp"
#include "validation/machines.hpp"

#include <fabricost/plan/evaluation/moe_kernel_rows.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

namespace fabricost::plan {

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
    case MoeKernel::mori: return dispatch ? "mori_dispatch" : "mori_combine";
    case MoeKernel::nccl: break;
  }
  return {};
}

constexpr std::array<std::string_view, 5> class_names{"deepep_normal", "deepep_low_latency", "trtllm_one_sided", "trtllm_two_sided", "mori"};

}  // namespace

Calibration calibrate_moe_kernels(const std::vector<MoeKernelRow>& all, const std::vector<std::string>& leave_out) {
  std::map<std::string, std::optional<System>> systems;
  KernelSamples samples(ConstantSet::moe);
  std::vector<Skipped> skipped;
  for (const MoeKernelRow& row : merge_repeats(all)) {
    std::string why = row.skipped;
    if (why.empty() && is_left_out(row.id, leave_out)) why = left_out_as_asked;
    if (why.empty() && row.question.kernel == MoeKernel::nccl) why = "NCCL's exchange has constants of its own";
    if (why.empty() && exchange_of(row.question.kernel) != nullptr) why = fmt::format("{} has constants of data/exchanges", name(row.question.kernel));
    try {
      if (why.empty()) {
        std::optional<System>& system = systems[row.system];
        if (!system) system = load_system(row.system);
        MoePrediction p = predict(*system, row.question);  // checks that it can run
        if (p.placement.domains() > 1) throw RequestError("across domains: constants are those inside one");
        const MoeWork work = work_of(*system, row.question, p.placement, p);
        const bool fp4 = p.precision == Precision::fp4;
        KernelSample sample{.generation = samples.generation(*system),
                            .section = section_of(row.question),
                            .seconds = [work, fp4, phase = row.question.phase, kernel = row.question.kernel](
                                           const Constants& c) { return price_kernel(work, c.moe, phase, kernel, fp4).seconds(); },
                            .measured = row.measured};
        const auto kernel = static_cast<std::size_t>(row.question.kernel);
        samples.add(std::move(sample), {.system = row.system,
                                        .interval = kernel,
                                        .ranks = p.placement.ranks,
                                        .domain = system->domain,
                                        .place = kernel,
                                        .rate = system->tier(TierRole::scale_up)->bandwidth.value.value()});
      }
    } catch (const RequestError& error) {
      why = first_line(error.what());
    }
    if (!why.empty()) count_skipped(skipped, why, row.repeats);
  }
  if (samples.empty())
    throw RequestError("no row of the files can be fitted: times of DeepEP, TensorRT-LLM or MORI kernels on known machines are needed");
  Calibration out = samples.fitted(class_names);
  out.skipped = std::move(skipped);
  return out;
}

}  // namespace fabricost::plan
