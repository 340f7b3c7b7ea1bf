/// \file point_to_point.cpp
/// One sender, one receiver: GPU pairs (text 001) and a GPU and its host.

#include "specs.hpp"

#include <fabricost/io/quantity_text.hpp>

#include <fmt/format.h>

namespace seed_tables {

using namespace fabricost;

Table pair_rates() {
  Table out{.title = "Copying from one GPU to another",
            .about = "Text 001's expectations for `cudaMemcpyPeer`, one way and both ways at once. *Predicted* is NCCL's send_recv, which copies through buffers with a few channels and so stays below a plain copy. Copies measured elsewhere are "
                     "quoted with their source; they decide.",
            .beside = {"ceiling", "send_recv of 16 KiB, predicted", "a copy, measured"},
            .ours = "send_recv of 256 MiB, predicted",
            .rows = {}};
  struct Pair {
    const char *label, *system, *said, *said_both;
    double low, high, low_both, high_both;
    double measured_low, measured_high;  ///< GB/s one way; 0: none published that we know
    const char* source;
  };
  for (const Pair& c : {Pair{"A100, NVLink 3", "dgx-a100", "270-290 GB/s", "530-570 GB/s", 270, 290, 530, 570, 276.3, 276.3, "nvbandwidth README"},
                        {"H100, NVLink 4", "dgx-h100", "400-430 GB/s", "780-850 GB/s", 400, 430, 780, 850, 396, 396, "stas00/ml-engineering, H200 board"},
                        {"PCIe 4", "pcie4-8gpu", "22-25 GB/s", "40-48 GB/s", 22, 25, 40, 48, 0, 0, ""},
                        {"PCIe 5", "pcie5-8gpu", "48-55 GB/s", "90-110 GB/s", 48, 55, 90, 110, 53, 56.6, "voipmonitor/rtx6kpro"}}) {
    const System& system = machine(c.system);
    const double ceiling = gigabytes_per_second(system, TierRole::scale_up);
    const Prediction large = predict(system, SendRecv{.bytes = units::MiB(256)}), small = predict(system, SendRecv{.bytes = units::KiB(16)});
    const double ours = GBps(large.algorithm_bandwidth());
    Figure measured{.note = "none known"};
    if (c.measured_low > 0) measured = {.value = c.measured_low, .unit = "GB/s", .note = c.source};
    if (c.measured_high > c.measured_low) measured = {.note = fmt::format("{} to {} GB/s ({})", text(c.measured_low), text(c.measured_high), c.source)};
    // with a measurement: does it lie in the text's range? without: can the link carry it, and does the prediction agree?
    Verdict verdict = Verdict::corrected;
    if (c.measured_low > 0) verdict = c.measured_high >= c.low && c.measured_low <= c.high ? Verdict::reproduced : Verdict::qualified;
    else if (c.high <= ceiling) verdict = judge(c.low, c.high, ours, 0.05) == Verdict::reproduced ? Verdict::reproduced : Verdict::qualified;
    out.rows.push_back({.label = c.label, .said = c.said, .beside = {{.value = ceiling, .unit = "GB/s"}, time_figure(small, 1e-6, "us"), measured},
                        .ours = {.value = ours, .unit = "GB/s", .low = ours * large.seconds / large.high, .high = ours * large.seconds / large.low}, .verdict = verdict,
                        .shown = fmt::format("the text's range is {} to {} % of the ceiling; {}", text(100 * c.low / ceiling, 0), text(100 * c.high / ceiling, 0), ran_text(large))});
    out.rows.push_back({.label = fmt::format("{}, both ways", c.label), .said = c.said_both, .beside = {{.value = 2 * ceiling, .unit = "GB/s"}, {}, {}}, .ours = {},
                        .verdict = c.high_both <= 2 * ceiling && c.system != std::string_view{"dgx-h100"} ? Verdict::reproduced : Verdict::unverifiable,
                        .shown = fmt::format("2 x {} = {} GB/s bounds it; {} to {} % of that", text(ceiling), text(2 * ceiling), text(100 * c.low_both / (2 * ceiling), 0), text(100 * c.high_both / (2 * ceiling), 0))});
  }
  out.remark = "\"Per-pair bandwidth, not the full 600\" (001): behind a switch one pair can use all 12 links; what is missing is protocol overhead. The text's program for both ways waits for one of its two streams only, and so overstates.";
  return out;
}

Table kv_offload() {
  const System& h = machine("dgx-h100");
  const Prediction p = predict(h, SendRecv{.bytes = units::GB(1), .path = Path::gpu_host});
  const double rate = gigabytes_per_second(h, TierRole::host);
  const Tier& host = tier(h, TierRole::host);
  return {.title = "1 GB of KV cache to the host over PCIe 5",
          .about = "Text 001 divides by 128 GB/s. The transfer goes one way. (Serving, where this belongs, is a later stage of fabricost.)",
          .beside = {"1 GB / one-way rate", "at the 55.4 GB/s measured on an H200 board (stas00/ml-engineering)"},
          .ours = "predicted",
          .rows = {{.label = "DGX H100", .said = "7.8 ms", .beside = {{.value = 1e3 / rate, .unit = "ms"}, {.value = 1e3 / 55.4, .unit = "ms"}}, .ours = time_figure(p, 1e-3, "ms"), .verdict = judge(7.8, 7.8, p.seconds * 1e3),
                    .shown = fmt::format("1 GB / ({} x {} GB/s after packet headers) + {} us", text(host.efficiency), text(rate), text(p.seconds * 1e6 - 1e6 / (host.efficiency * rate)))}}};
}

}  // namespace seed_tables
