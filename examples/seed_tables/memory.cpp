/// \file memory.cpp
/// Arithmetic on memory sizes: what fits where (texts 000 to 003). fabricost's planner, a later stage, will refuse layouts that do not fit;
/// here is the arithmetic alone.

#include "specs.hpp"

#include <fmt/format.h>

#include <cmath>

namespace seed_tables {

using namespace fabricost::plan;

Table memory_fit() {
  const System &h = machine("dgx-h100"), &rack = machine("gb200-nvl72");
  constexpr double h100 = 80, gb200 = 186;  // GB as sold, which the texts count in; drivers show 85.5 and 198.7
  const double node = h100 * h.domain, all = gb200 * rack.domain;
  const auto gpus = [](double gigabytes_needed, double each) { return std::ceil(gigabytes_needed / each - 1e-9); };
  const Model &small = llama_70b(), &large = llama_405b();
  const double kv = 2.0 * small.kv_heads * small.head_size * half_precision;
  const double context = 131072 * kv / 1073741824;
  const auto row = [](std::string label, std::string said, Figure ours, Verdict verdict, std::string shown) {
    return Row{.label = std::move(label), .said = std::move(said), .ours = std::move(ours), .verdict = verdict, .shown = std::move(shown)};
  };
  const double scaled = 1.8e12 * 4.5 / 8 / 1e9;
  return {
      .title = "What fits",
      .about =
          "Sizes of texts 000 to 003, in gigabytes as sold; drivers show 85.5 GB of an H100 and 198.7 GB of a GB200. This is arithmetic "
          "only: memory planning, with activations, optimizer and cache, is a later stage of fabricost.",
      .rows = {
          row("8 H100s hold", "640 GB (000)", {.value = node, .unit = "GB"}, judge(640, 640, node),
              fmt::format("{} x {}", h.domain, text(h100))),
          row("NVL72 holds", "13 TB (000); 13.8 TB (003)", {.value = all / 1e3, .unit = "TB", .decimals = 2}, judge(13, 13.8, all / 1e3),
              fmt::format("{} x {} GB as sold; {} with the 192 GB of the raw stacks", rack.domain, text(gb200),
                          text(rack.domain * 0.192, 2))),
          row("5T parameters in FP8, H100s needed", "not on Hopper (000)", {.value = gpus(5000, h100), .unit = "GPUs"}, Verdict::corrected,
              fmt::format("5,000 GB / {} = {}: {} nodes, experts spread over InfiniBand at {} times less bandwidth; slower, not impossible",
                          text(h100), text(5000 / h100), text(std::ceil(gpus(5000, h100) / h.domain)),
                          text(gigabytes_per_second(h, TierRole::scale_up) / gigabytes_per_second(h, TierRole::nic)))),
          row("5T parameters in FP8, GB200s needed", "one NVL72 (000)", {.value = gpus(5000, gb200), .unit = "GPUs"},
              judge(0, rack.domain, gpus(5000, gb200)), fmt::format("5,000 GB / {}, of {}", text(gb200), rack.domain)),
          row("1.8T parameters in FP4, GPUs needed", "5 (001)", {.value = gpus(scaled, gb200), .unit = "GPUs"}, Verdict::qualified,
              fmt::format("900 GB / {} = {}, with nothing left for a cache; with block scales, 4.5 bits each, {} GB / {} = {}", text(gb200),
                          text(900 / gb200, 2), text(scaled, 1), text(gb200), text(scaled / gb200, 2))),
          row("1.8T parameters in FP4 over 72 GPUs", "12.5 GB each (001)", {.value = 900.0 / rack.domain, .unit = "GB"},
              judge(12.5, 12.5, 900.0 / rack.domain),
              fmt::format("900 / {}; but 72 does not divide 64, 96 or 128 attention heads", rack.domain)),
          row("405B in FP8 over 8 GPUs", "50 GB each (001)", {.value = large.parameters / 8e9, .unit = "GB", .decimals = 1},
              judge(50, 50, large.parameters / 8e9), "405 / 8"),
          row("405B in FP8 over 4 GPUs", "101 GB each (001)", {.value = large.parameters / 4e9, .unit = "GB", .decimals = 1},
              judge(101, 101, large.parameters / 4e9), "405 / 4"),
          row("training 70B, GPU state in all", "on 8 GPUs (003)", {.value = small.parameters * 16 / 1e12, .unit = "TB"},
              Verdict::corrected,
              fmt::format("70e9 x 16 bytes (weights, gradients, Adam in mixed precision) = {} GB; 8 H100s have {}",
                          text(small.parameters * 16 / 1e9), text(node))),
          row("55T parameters in FP16 over 576 GPUs", "fits 110 TB (003)", {.value = 55e12 * 2 / 1e12, .unit = "TB"}, Verdict::qualified,
              fmt::format("576 x 192 GB = {} TB: the weights fit and nothing else; a GPU still has only its own memory, {} times faster "
                          "than its NVLink",
                          text(576 * 0.192, 1), text(GBps(rack.gpu.hbm_bandwidth.value) / gigabytes_per_second(rack, TierRole::scale_up)))),
          row("KV cache per token and layer", "64 kB (002)", {.value = kv / 1024, .unit = "KiB"}, judge(64, 64, kv / 1024),
              fmt::format("Llama 3: 2 x {} KV heads x {} x 2 bytes; 64 KiB is 16,384 wide without grouped queries", small.kv_heads,
                          small.head_size)),
          row("KV cache of 128k tokens, one layer", "8 GB (002)", {.value = context, .unit = "GiB"}, judge(8, 8, context),
              fmt::format("131,072 x {} KiB; {} GiB over {} layers", text(kv / 1024), text(context * small.layers), small.layers))}};
}

}  // namespace seed_tables
