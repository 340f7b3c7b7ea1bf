/// Predictions for machines without any measured kernel, beside their measured neighbour.

#include "sections.hpp"

#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <array>

namespace kernels {

using namespace fabricost::plan;

std::string unmeasured() {
  std::string out =
      "## Machines without measurements\n\n"
      "Microseconds of an all-reduce by vLLM's kernels or NCCL (its newest rules), and of DeepEP's low-latency and normal dispatch of 128 "
      "and 4096\n"
      "tokens (hidden 7168, top 8 of 256): largest domain up to 8 GPUs. The first of each group was measured.\n\n"
      "| system | 2 GPUs, 64 KiB | 2, 4 MiB | all, 64 KiB | all, 4 MiB | low latency | normal | basis "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const char* name :
       {"dgx-a100", "hgx-a100-4", "hgx-a100", "dgx-h100", "dgx-h200", "hgx-h20", "deepseek-v3-h800", "dgx-b200", "dgx-b300", "gb200-nvl72",
        "gb300-nvl72", "l40s-pcie", "rtx-4090-pcie", "rtx-pro-6000-pcie", "pcie5-8gpu", "dgx-1-v100", "vera-rubin-nvl72"}) {
    const System s = load_system(name);
    const int max = std::min({8, s.domain, s.gpus()});
    const Choice vllm{.inference = {.library = InferenceLibrary::vllm}};
    const auto reduce = [&](int ranks, double bytes) {
      return fmt::format("{:.1f}", 1e6 * predict(s, AllReduce{.bytes = Bytes::from_value(bytes), .ranks = ranks}, vllm).seconds);
    };
    const auto dispatch = [&](MoeKernel kernel, double tokens) -> std::string {
      try {
        return fmt::format(
            "{:.1f}",
            1e6 * predict(s, MoeQuestion{.kernel = kernel, .gate = {256, 8}, .hidden = 7168, .tokens = tokens, .ranks = max}).seconds);
      } catch (const RequestError&) {
        return "-";
      }
    };
    constexpr double small = 64 * 1024, large = 4 * 1024 * 1024;
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, reduce(2, small), reduce(2, large), reduce(max, small),
                       reduce(max, large), dispatch(MoeKernel::deepep_low_latency, 128), dispatch(MoeKernel::deepep_normal, 4096),
                       fabricost::core::name(s.constants.custom_basis));
  }
  return out;
}

}  // namespace kernels
