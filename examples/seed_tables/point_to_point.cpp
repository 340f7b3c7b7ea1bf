/// \file point_to_point.cpp
/// One sender, one receiver: GPU pairs (text 001) and a GPU and its host.

#include "specs.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

namespace seed_tables {

using namespace fabricost::plan;

Table pair_rates() {
  Table out{.title = "Copying from one GPU to another",
            .about =
                "Text 001's expectations for `cudaMemcpyPeer`, one way and both ways at once. *Predicted* is NCCL's send_recv, which "
                "copies through buffers with a few channels and so stays below a plain copy. Copies measured elsewhere "
                "are quoted with their source, and decide; without one the text's range must lie below the ceiling and meet the "
                "prediction's interval.",
            .beside = {"ceiling", "send_recv of 16 KiB, predicted", "a copy, measured"},
            .ours = "send_recv of 256 MiB, predicted",
            .rows = {}};
  struct Pair {
    const char *label, *system, *said, *said_both;
    double low, high, low_both, high_both;         ///< GB/s, the text
    double measured_low, measured_high;            ///< GB/s one way; 0: none known
    double measured_both_low, measured_both_high;  ///< both ways at once
    const char* source;
  };
  const auto measured = [](double low, double high, const char* source) {
    if (low == 0) return Figure{.note = "none known"};
    if (low == high) return Figure{.value = low, .unit = "GB/s", .note = source};
    return Figure{.note = fmt::format("{} to {} GB/s ({})", text(low), text(high), source)};
  };
  for (const Pair& c :
       {Pair{"A100, NVLink 3", "dgx-a100", "270-290 GB/s", "530-570 GB/s", 270, 290, 530, 570, 276.3, 276.3, 0, 0, "nvbandwidth README"},
        {"H100, NVLink 4", "dgx-h100", "400-430 GB/s", "780-850 GB/s", 400, 430, 780, 850, 396, 396, 784, 784,
         "stas00/ml-engineering, H200 board"},
        {"PCIe 4", "pcie4-8gpu", "22-25 GB/s", "40-48 GB/s", 22, 25, 40, 48, 0, 0, 0, 0, ""},
        {"PCIe 5", "pcie5-8gpu", "48-55 GB/s", "90-110 GB/s", 48, 55, 90, 110, 53, 56.6, 103, 111, "voipmonitor/rtx6kpro"}}) {
    const System& system = machine(c.system);
    const double ceiling = gigabytes_per_second(system, TierRole::scale_up);
    const Prediction large = predict(system, SendRecv{.bytes = units::MiB(256)}),
                     small = predict(system, SendRecv{.bytes = units::KiB(16)});
    const double ours = GBps(large.algorithm_bandwidth());
    const Figure rate{.value = ours, .unit = "GB/s", .low = ours * large.seconds / large.high, .high = ours * large.seconds / large.low};
    // measured: does it lie in the text's range? otherwise: does the range fit under the ceiling and meet the prediction?
    const auto verdict = [&](double low, double high, double seen_low, double seen_high, double bound) {
      if (high > bound) return Verdict::corrected;
      if (seen_low > 0) return seen_high >= low && seen_low <= high ? Verdict::reproduced : Verdict::qualified;
      return bound == ceiling && rate.high >= low && rate.low <= high ? Verdict::reproduced : Verdict::unverifiable;
    };
    const auto of_ceiling = [](double low, double high, double bound) {
      return fmt::format("the text's range is {} to {} % of the ceiling", text(100 * low / bound, 0), text(100 * high / bound, 0));
    };
    out.rows.push_back({.label = c.label,
                        .said = c.said,
                        .beside = {{.value = ceiling, .unit = "GB/s"},
                                   time_figure(small, 1e-6, "us"),
                                   measured(c.measured_low, c.measured_high, c.source)},
                        .ours = rate,
                        .verdict = verdict(c.low, c.high, c.measured_low, c.measured_high, ceiling),
                        .shown = fmt::format("{}; {}", of_ceiling(c.low, c.high, ceiling), ran_text(large))});
    out.rows.push_back(
        {.label = fmt::format("{}, both ways at once", c.label),
         .said = c.said_both,
         .beside = {{.value = 2 * ceiling, .unit = "GB/s"}, {}, measured(c.measured_both_low, c.measured_both_high, c.source)},
         .ours = {},
         .verdict = verdict(c.low_both, c.high_both, c.measured_both_low, c.measured_both_high, 2 * ceiling),
         .shown = fmt::format("2 x {} = {} GB/s; {}", text(ceiling), text(2 * ceiling), of_ceiling(c.low_both, c.high_both, 2 * ceiling))});
  }
  out.remark =
      "Behind a switch one pair can use all 12 links of an A100, against what text 001 notes; what is missing is protocol overhead. Its "
      "program for both ways waits for one of its two streams only, and so overstates.";
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
          .rows = {{.label = "DGX H100",
                    .said = "7.8 ms",
                    .beside = {{.value = 1e3 / rate, .unit = "ms"}, {.value = 1e3 / 55.4, .unit = "ms"}},
                    .ours = time_figure(p, 1e-3, "ms"),
                    .verdict = judge(7.8, 7.8, p.seconds * 1e3),
                    .shown = fmt::format("1 GB / ({} x {} GB/s after packet headers) + {} us", text(host.efficiency), text(rate),
                                         text(p.seconds * 1e6 - 1e6 / (host.efficiency * rate)))}}};
}

}  // namespace seed_tables
