/// Dispatch and combine: in sample, a generation left out, the fewest ranks fitted and more predicted.

#include "sections.hpp"

#include <fabricost/plan/evaluation/moe_kernel_rows.hpp>
#include <fabricost/specs/load.hpp>

#include <array>
#include <set>
#include <span>

namespace kernels {

using namespace fabricost::plan;

namespace {

constexpr std::array<const char*, 3> systems{"dgx-h100", "dgx-b200", "gb200-nvl72"};
constexpr std::array<const char*, 3> later_tables{"dgx-h200", "dgx-b300", "gb200-nvl72"};

using Rows = std::vector<MoeKernelRow>;

Rows only(const Rows& all, const auto& keep) {
  Rows out;
  for (const MoeKernelRow& r : all)
    if (keep(r)) out.push_back(r);
  return out;
}
WorkloadReport predicted(Rows rows, const std::vector<Calibration>& fits) {
  predict_moe_kernel_rows(rows, [&](System& s) {
    if (!fits.empty()) use_fits(ConstantSet::moe, s, fits);
  });
  return summarise(std::vector<WorkloadRow>(rows.begin(), rows.end()));
}

/// All rows of these machines' tables, repeats merged.
Rows read(const std::filesystem::path& folder, std::span<const char* const> machines) {
  Rows out;
  for (const char* system : machines)
    for (MoeKernelRow& row : read_moe_kernel_rows(folder / (std::string(system) + ".moe.csv"))) out.push_back(std::move(row));
  return merge_repeats(out);
}

std::string as_shipped(const Rows& all) {
  std::string out = "| system, kernel, phase | rows | median / mean | in the interval |\n|---|---|---|---|\n";
  const auto line = [&](const std::string& name, const ErrorSummary& e) {
    out += fmt::format("| {} | {} | {} | {:.0f} % |\n", name, e.points, pair(e), 100 * e.interval_coverage);
  };
  std::set<std::string> machines;
  for (const MoeKernelRow& row : all) machines.insert(row.system);
  for (const std::string& machine : machines)
    line(machine, predicted(only(all, [&](const MoeKernelRow& row) { return row.system == machine; }), {}).total);
  for (const ErrorGroup& g : predicted(all, {}).by_group) line(g.name, g.errors);
  return out + "\n";
}

std::string generations(const Rows& all) {
  std::string out = "| left out | from | deepep-normal | deepep-low-latency | all |\n|---|---|---|---|---|\n";
  Average average;
  for (const auto& [left, from] : {std::pair{"dgx-h100", "dgx-b200"}, {"dgx-b200", "dgx-h100"}}) {
    const std::vector<Calibration> fit{
        calibrate_moe_kernels(only(all, [system = from](const MoeKernelRow& r) { return r.system == system; }))};
    const auto of = [&, system = left](const char* kernel) {
      return predicted(only(all, [&](const MoeKernelRow& r) { return r.system == system && r.implementation.starts_with(kernel); }), fit)
          .total;
    };
    const ErrorSummary whole = of("deepep");
    average.add(whole);
    out += fmt::format("| {} | {} | {} | {} | {} |\n", left, from, pair(of("deepep-normal")), pair(of("deepep-low-latency")), pair(whole));
  }
  return out + fmt::format("| averaged | | | | {} |\n\n", average.text());
}

std::string more_ranks(const Rows& all) {
  std::string out = "| fitted on | predicted | median / mean | to 128 tokens | beyond |\n|---|---|---|---|---|\n";
  const Rows rack = only(all, [](const MoeKernelRow& r) { return r.system == "gb200-nvl72"; });
  for (const auto& [max, ranks] : {std::pair{4, 8}, {4, 16}, {8, 16}}) {
    const std::vector<Calibration> fit{
        calibrate_moe_kernels(only(rack, [&, limit = max](const MoeKernelRow& r) { return r.question.ranks <= limit; }))};
    const auto of = [&, n = ranks](double min, double limit) {
      return predicted(only(rack,
                            [&](const MoeKernelRow& r) {
                              return r.question.ranks == n && r.question.tokens >= min && r.question.tokens <= limit;
                            }),
                       fit)
          .total;
    };
    out += fmt::format("| 2 to {} ranks | {} | {} | {} | {} |\n", max, ranks, pair(of(0, 1e12)), pair(of(0, 128)), pair(of(129, 1e12)));
  }
  out +=
      "\nWhat that makes of 32 and 64 ranks, time beside the one on 16 (top 8 of 256, hidden 7168, balanced):\n\n"
      "| kernel | tokens | 16 ranks | 32 | 64 |\n|---|---|---|---|---|\n";
  const System nvl72 = load_system("gb200-nvl72");
  for (const auto& [kernel, phase] : {std::pair{MoeKernel::trtllm_one_sided, MoePhase::dispatch},
                                      {MoeKernel::trtllm_one_sided, MoePhase::combine},
                                      {MoeKernel::trtllm_two_sided, MoePhase::dispatch},
                                      {MoeKernel::trtllm_two_sided, MoePhase::combine},
                                      {MoeKernel::trtllm_two_sided, MoePhase::prepare}})
    for (const double tokens : {16.0, 4096.0}) {
      std::array<double, 3> us{};
      for (std::size_t i = 0; i < us.size(); ++i)
        us[i] = 1e6 * predict(nvl72, MoeQuestion{.phase = phase,
                                                 .kernel = kernel,
                                                 .gate = {256, 8},
                                                 .routing = {.kind = RoutingKind::balanced},
                                                 .hidden = 7168,
                                                 .tokens = tokens,
                                                 .ranks = 16 << i})
                          .seconds;
      out += fmt::format("| {}, {} | {:.0f} | {:.1f} us | {:.2f} | {:.2f} |\n", name(kernel), name(phase), tokens, us[0], us[1] / us[0],
                         us[2] / us[0]);
    }
  return out + "\n";
}

}  // namespace

std::string expert_kernels(const std::filesystem::path& folder) {
  const Rows all = read(folder, systems);
  return "## Dispatch and combine\n\nTables in no fit, with the shipped constants; of the NVL72 more kernels and up to 64 ranks.\n\n" +
         as_shipped(read(folder / "second", later_tables)) +
         "A generation left out: DeepEP's constants from the other, latencies stretched by NCCL's step. TensorRT-LLM's kernels were "
         "measured on one\n"
         "generation, so nothing can be left out of theirs.\n\n" +
         generations(all) +
         "Fewest ranks to more. A token goes to as many ranks as it has experts and no further, so beyond eight bytes and latency hardly "
         "grow.\n\n" +
         more_ranks(all) + "In sample: what was fitted, with the shipped constants.\n\n" + as_shipped(all);
}

}  // namespace kernels
