/// \file reliability.cpp
/// Waiting for the slowest and failing: text 004's tail, text 003's account of Llama 3's 54 days, and what follows from both.

#include <fabricost/plan/economics/power.hpp>
#include <fabricost/plan/economics/stragglers.hpp>
#include <fabricost/plan/specs/failures.hpp>
#include "specs.hpp"


#include <fmt/format.h>

namespace seed_tables {

using namespace fabricost::plan;

Table tails_and_failures() {
  const FailureFacts facts = load_failure_facts();
  const FailureFleet& llama = facts.fleet("llama3");
  const double nodes = llama.gpus / llama.gpus_per_node, mttf = llama.rate.mttf(nodes);
  const auto row = [](std::string label, std::string said, Figure ours, Verdict verdict, std::string shown) {
    return Row{.label = std::move(label), .said = std::move(said), .ours = std::move(ours), .verdict = verdict, .shown = std::move(shown)};
  };
  const auto late = [&](double ranks) {
    const double share = 100 * somebody_late(0.01, ranks);
    return row(fmt::format("steps with somebody late, {} ranks, each in 1 % of steps", text(ranks)), "\"stalls the whole step\"",
               {.value = share, .unit = "%", .decimals = ranks > 100 ? 3 : 1}, Verdict::reproduced,
               fmt::format("1 - 0.99^{}", text(ranks)));
  };
  const double slowest = expected_maximum({JitterShape::normal, 100, 2}, 1024);
  const double step = 6 * llama_70b().parameters * 4.2e6 / (1024 * 400e12);
  FailureQuestion q{.nodes = nodes, .rate = llama.rate, .checkpointing = {.stall = 30, .recovery = facts.recovery}};
  const FailureAnswer waits = failures_of(q);
  q.checkpointing.stall = facts.background_stall;
  q.checkpointing.drain = facts.background_drain;
  const FailureAnswer background = failures_of(q);
  const auto minutes = [](double seconds) { return text(seconds / 60, 1); };
  return {
      .title = "The slowest rank, and failures",
      .about = "Text 004's tail and text 003's Llama 3, with the goodput that follows.",
      .rows = {
          late(64), late(1000),
          row("slowest of 1,024 ranks of 100 ms, standard deviation 2", "-", {.value = slowest, .unit = "ms", .decimals = 1},
              Verdict::added, "expected maximum of normal times"),
          row("a training step, 70B on 1,024 GPUs", "milliseconds (003)", {.value = step, .unit = "s", .decimals = 1}, Verdict::qualified,
              "6 x 70e9 x 4.2e6 tokens / (1,024 x 400 TFLOP/s)"),
          row("throughput lost beyond 8 GPUs", "23 % (002)", {}, Verdict::unverifiable,
              "no model, batch or network is named; labelled training, linked to inference"),
          row("Meta's two clusters", "24K each (004)", {.value = static_cast<double>(machine("meta-24k-roce").gpus()), .unit = "GPUs"},
              judge(24e3, 24e3, machine("meta-24k-roce").gpus()), "3,072 nodes of 8, one with InfiniBand and one with RoCE"),
          row("InfiniBand tiers above 8 H100s", "NVLink plus InfiniBand (003)",
              {.value = static_cast<double>(network_size(machine("dgx-h100"), 8).tiers), .unit = "tiers"}, Verdict::qualified,
              "8 ranks are one NVLink domain: no collective of theirs leaves it"),
          row("mean time between failures, 16,384 H100s", "-", {.value = mttf / 3600, .unit = "h", .decimals = 2}, Verdict::added,
              fmt::format("54 days x 24 / {}; {} per 1000 node-days", text(llama.failures()), text(llama.rate.thousand_node_days(), 2))),
          row("time that counts, checkpoints of 30 s", "-", {.value = 100 * waits.share.kept, .unit = "%", .decimals = 1}, Verdict::added,
              fmt::format("one every {} min; recovery {} min", minutes(waits.checkpointing.interval),
                          minutes(waits.checkpointing.recovery))),
          row("time that counts, checkpoints in the background", "-", {.value = 100 * background.share.kept, .unit = "%", .decimals = 1},
              Verdict::added,
              fmt::format("one every {} min, stall {} s; Llama 3 reports more than 90 %", minutes(background.checkpointing.interval),
                          text(background.checkpointing.stall, 1)))}};
}

}  // namespace seed_tables
