/// \file strategy.cpp
/// The demand of each parallelism on each link (text 001), priced on NVLink and across nodes, and the cost of pipelining (text 000).
/// Ranking whole layouts is the planner's, a later stage.

#include "specs.hpp"

#include <fmt/format.h>

namespace seed_tables {

using namespace fabricost::plan;

Table strategies() {
  const System& h = machine("dgx-h100");
  const Model& m = llama_70b();
  const auto time = [](const Prediction& p) {
    const bool slow = p.seconds >= 1e-3;
    return time_figure(p, slow ? 1e-3 : 1e-6, slow ? "ms" : "us");
  };
  Table out{.title = "Parallelism and the link it needs",
            .about =
                "Text 001 assigns each kind of parallelism a link. Here one typical step of each, on a DGX H100 over NVLink and across "
                "such nodes over 400G InfiniBand: nothing is forbidden, everything has a price.",
            .beside = {"inside a node", "across nodes"},
            .ours = "ratio",
            .rows = {}};
  struct Line {
    const char *label, *said;
    Operation near, far;
    Verdict verdict;
    std::string shown;
  };
  const Bytes layer = Bytes::from_value(activation_bytes(m, 32)), microbatch = Bytes::from_value(activation_bytes(m, 4096));
  const Bytes shard = Bytes::from_value(m.parameters * half_precision / 8);
  const Line lines[] = {
      {"tensor: one all-reduce, batch 32", "NVLink only", AllReduce{.bytes = layer, .ranks = 8},
       AllReduce{.bytes = layer, .ranks = 16, .nodes = 2}, Verdict::qualified,
       fmt::format("{} KiB over 8 GPUs, over 16 on 2 nodes; twice a layer, so {} x {} of them a token", text(layer.value() / 1024), 2,
                   m.layers)},
      {"pipeline: one microbatch on", "NVLink or InfiniBand; tens of GB/s", SendRecv{.bytes = microbatch},
       SendRecv{.bytes = microbatch, .path = Path::nic}, Verdict::reproduced,
       fmt::format("4,096 tokens x {} x 2 bytes = {} MB; text 003 leaves out sequence and bytes", text(m.hidden),
                   text(microbatch.value() / 1e6))},
      {"experts: one all-to-all", "NVLink, ideally NVSwitch", AllToAll{.bytes = units::MiB(64), .ranks = 8},
       AllToAll{.bytes = units::MiB(64), .ranks = 64, .nodes = 8}, Verdict::qualified,
       "64 MiB a GPU over 8 GPUs, over 64 on 8 nodes; two a layer, dispatch and combine. Done in production across nodes"},
      {"data: gradients, sharded 8 ways", "InfiniBand suffices", AllReduce{.bytes = shard, .ranks = 8},
       AllReduce{.bytes = shard, .ranks = 8, .nodes = 8}, Verdict::reproduced,
       fmt::format("140 GB of BF16 / 8 = {} GB over 8 ranks, one on each of 8 nodes; once a step, and it can hide behind the backward pass",
                   text(shard.value() / 1e9))}};
  for (const Line& l : lines) {
    const Prediction near = predict(h, l.near), far = predict(h, l.far);
    out.rows.push_back({.label = l.label,
                        .said = l.said,
                        .beside = {time(near), time(far)},
                        .ours = {.value = far.seconds / near.seconds, .unit = "x", .decimals = 1},
                        .verdict = l.verdict,
                        .shown = fmt::format("{}; {} / {}", l.shown, ran_text(near), ran_text(far))});
  }
  out.remark = "`fabricost plan`, a later stage, ranks whole layouts by time; until then these are the pieces.";
  return out;
}

Table pipelining() {
  const System& h = machine("dgx-h100");
  const Model& m = llama_70b();
  const double stages = 8, microbatches = 32;
  const double bubble = (stages - 1) / (microbatches + stages - 1);
  const Bytes boundary = Bytes::from_value(activation_bytes(m, 8192));
  const Prediction p = predict(h, SendRecv{.bytes = boundary, .path = Path::nic});
  return {.title = "Pipelining across racks",
          .about = "Text 000 says it is free. The boundary is small, but stages wait for the first and the last microbatch.",
          .rows = {{.label = "idle share, 8 stages, 32 microbatches",
                    .said = "free",
                    .ours = {.value = 100 * bubble, .unit = "%", .decimals = 1},
                    .verdict = Verdict::corrected,
                    .shown = fmt::format("(p-1) / (m+p-1) = {} / {}", text(stages - 1), text(microbatches + stages - 1))},
                   {.label = "handing on one microbatch of 8,192 tokens",
                    .said = "small",
                    .ours = time_figure(p, 1e-3, "ms"),
                    .verdict = Verdict::qualified,
                    .shown = fmt::format(
                        "8,192 x {} x 2 bytes = {} MB over one NIC of {} GB/s; hidden only if the schedule overlaps it; {}", text(m.hidden),
                        text(boundary.value() / 1e6), text(gigabytes_per_second(h, TierRole::nic)), ran_text(p))},
                   {.label = "all-to-all traffic over boundary traffic",
                    .said = "boundary is small (000)",
                    .ours = {.value = 2.0 * 8 * 10, .unit = "x"},
                    .verdict = Verdict::reproduced,
                    .shown = "2 x top 8 experts x 10 MoE layers a stage, per token"}}};
}

}  // namespace seed_tables
