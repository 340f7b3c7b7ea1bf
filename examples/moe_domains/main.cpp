/// Does the scale-up domain bound a mixture of experts? The same GPUs, NVLinks and NICs in domains of 8, 72, 144 and 576: the time of one
/// layer's dispatch and combine, and the cost of going across. Prints docs/moe-domains.md.

#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/model/gate.hpp>
#include <fabricost/plan/specs/load_model.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

using namespace fabricost::plan;

namespace {

constexpr std::array<int, 4> domains{8, 72, 144, 576};
constexpr std::array<const char*, 5> models{"gpt-oss-120b", "deepseek-v3", "kimi-k2", "moe-1.8t", "moe-5t"};

/// The rack's GPUs, links and NICs with another number of GPUs in a domain.
System with_domain(System system, int gpus) {
  system.domain = gpus;
  for (Tier& tier : system.tiers)
    if (tier.role == TierRole::scale_up) tier.endpoints = gpus;
  return system;
}

struct Pair {
  double seconds = 0, across_share = 0;
};

/// Dispatch and combine of one layer.
Pair layer(const System& system, const Model& m, MoeKernel kernel, double tokens, int ranks) {
  MoeQuestion q{
      .kernel = kernel, .gate = gate_of(m), .hidden = m.expert_hidden > 0 ? m.expert_hidden : m.hidden, .tokens = tokens, .ranks = ranks};
  const MoePrediction out = predict(system, q);
  q.phase = MoePhase::combine;
  const MoePrediction back = predict(system, q);
  const double moved = out.inside_bytes + out.across_bytes + back.inside_bytes + back.across_bytes;
  return {out.seconds + back.seconds, moved > 0 ? (out.across_bytes + back.across_bytes) / moved : 0};
}

/// Ranks that divide the experts: the most that 8, 72, 144 and 576 GPUs can be.
std::vector<int> ranks_of(const Model& m) {
  std::vector<int> out;
  for (const int max : domains) {
    int best = 1;
    for (int r = 1; r <= std::min(max, m.experts); ++r)
      if (m.experts % r == 0 && (r <= 8 || r % 8 == 0)) best = r;
    if (out.empty() || best > out.back()) out.push_back(best);
  }
  return out;
}

void table(const System& rack, MoeKernel kernel, double tokens) {
  fmt::print(
      "| model | expert weights, fp8 | expert ranks | weights a GPU | 8 | 72 | 144 | 576 | across, 8 | 8 over inside | 72 over inside |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const char* name : models) {
    const Model m = load_model(name);
    const double weights = parameters_of(m).expert * m.experts * m.expert_layers();
    for (const int ranks : ranks_of(m)) {
      std::array<Pair, domains.size()> t;
      for (std::size_t d = 0; d < domains.size(); ++d) t[d] = layer(with_domain(rack, domains[d]), m, kernel, tokens, ranks);
      const double each = weights / ranks;
      fmt::print("| {} | {:.0f} GB | {} | {:.1f} GB{} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} % | {:.1f} | {:.1f} |\n", name,
                 weights / 1e9, ranks, each / 1e9, each > rack.memory().value() ? ", too much" : "", 1e6 * t[0].seconds, 1e6 * t[1].seconds,
                 1e6 * t[2].seconds, 1e6 * t[3].seconds, 100 * t[0].across_share, t[0].seconds / t[3].seconds, t[1].seconds / t[3].seconds);
    }
  }
  fmt::print("\n");
}

}  // namespace

int main() {
  const System rack = load_system("gb200-nvl72");
  const Tier* up = rack.tier(TierRole::scale_up);
  const Tier* nic = rack.tier(TierRole::nic);
  const double inside = up->bandwidth.value.value() / 1e9,
               outside = nic->bandwidth.value.value() * nic->endpoints / rack.gpus_per_node / 1e9;
  fmt::print("# Does the domain bound the mixture of experts?\n\n");
  fmt::print(
      "Written by `build/bin/moe_domains > docs/moe-domains.md`. One machine, {}: {:.0f} GB/s one way into the domain and {:.0f} GB/s to "
      "the\n",
      rack.title, inside, outside);
  fmt::print(
      "network for each GPU, and only the number of GPUs in a domain changes (8, 72, 144, 576). Microseconds of one layer's dispatch in "
      "fp8\n"
      "and combine in bf16, routing uniform; `across, 8` is the share of the bytes that leaves domains of 8. Kernels are priced as fitted "
      "inside\n"
      "domains; across them the NICs carry {:.0f} % of their rate (the transport's efficiency), which was not measured with these "
      "kernels:\n"
      "against DeepEP's published times on H800 it is 9 to 19 % too fast.\n\n",
      100 * rack.constants.transport.efficiency);
  fmt::print("## A decode step: 128 tokens a GPU, DeepEP's low-latency kernels (a copy for each expert)\n\n");
  table(rack, MoeKernel::deepep_low_latency, 128);
  fmt::print("## Prefill: 4096 tokens a GPU, DeepEP's normal kernels (a copy for each domain, forwarded over NVLink)\n\n");
  table(rack, MoeKernel::deepep_normal, 4096);
  const Model v3 = load_model("deepseek-v3");
  const Pair decode_8 = layer(with_domain(rack, 8), v3, MoeKernel::deepep_low_latency, 128, 64);
  const Pair decode_72 = layer(with_domain(rack, 72), v3, MoeKernel::deepep_low_latency, 128, 64);
  const Pair prefill_8 = layer(with_domain(rack, 8), v3, MoeKernel::deepep_normal, 4096, 64);
  const Pair prefill_72 = layer(with_domain(rack, 72), v3, MoeKernel::deepep_normal, 4096, 64);
  const int layers = v3.expert_layers();
  fmt::print(
      "## What it says\n\n"
      "DeepSeek-V3 on 64 GPUs, {} layers with experts: a decode step spends {:.1f} ms on exchanges in domains of 8 and {:.1f} ms in one of "
      "72; a\n"
      "prefill of 4096 tokens {:.0f} ms and {:.0f} ms. The domain is a bound on speed, not on size: a model whose experts need more GPUs "
      "than a\n"
      "domain runs all the same, at {:.1f} times the exchange time in decode and {:.1f} times in prefill, before anything is overlapped. "
      "What binds\n"
      "is the ratio of the two rates, {:.0f} here. It is cut where copies are made for each domain (prefill) and where a gate limits the "
      "groups a\n"
      "token may go to; kernels that send a copy for each expert pay it in full. From 72 to 576 GPUs the domain gains nothing until the "
      "experts\n"
      "are spread over more than 72 ranks. Mixtures of few large experts (16, top 2) send few copies, so that their exchange is short in "
      "bytes,\n"
      "but they cannot use more than 16 ranks, and the weights of a GPU say where that stops them.\n",
      layers, 1e3 * layers * decode_8.seconds, 1e3 * layers * decode_72.seconds, 1e3 * layers * prefill_8.seconds,
      1e3 * layers * prefill_72.seconds, decode_8.seconds / decode_72.seconds, prefill_8.seconds / prefill_72.seconds, inside / outside,
      rack.memory().value() / 1e9);
  return 0;
}
