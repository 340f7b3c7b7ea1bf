/// \file tensor_parallel.cpp
/// What tensor parallelism costs: the share of two all-reduces a layer beside the layer's own work, when decoding (text 001) and
/// when training (text 003). Attention over the KV cache is left out, as in the texts; serving and planning belong to later
/// stages of fabricost.
///
///   share = 2 t / (2 t + work)      work when decoding: weights of a layer / (GPUs x HBM rate); when training: flops / (50 % of peak)

#include "specs.hpp"

#include <fabricost/io/explain.hpp>

#include <fmt/format.h>

namespace seed_tables {

using namespace fabricost;

namespace {

double share(double communication, double work) { return 100 * communication / (communication + work); }

/// Percent with the interval of the predicted all-reduce carried over.
Figure share_figure(const Prediction& p, double calls, double work) {
  return {.value = share(calls * p.seconds, work),
          .unit = "%",
          .decimals = 0,
          .low = share(calls * p.low, work),
          .high = share(calls * p.high, work)};
}

}  // namespace

Table decode_overhead() {
  Table out{.title = "Tensor parallelism when decoding, FP8 weights, batch 32",
            .about =
                "Text 001. One layer reads its weights once for the whole batch (memory bound: weights / (GPUs x HBM)) and all-reduces "
                "twice. *Additive* is the reference of an earlier fit, launch + 2(n-1) steps + "
                "volume, kept for comparison.",
            .beside = {"work per layer", "2 all-reduces, naive", "share, naive", "share, additive", "2 all-reduces, predicted"},
            .ours = "share, predicted",
            .rows = {}};
  struct Line {
    const char *label, *system, *memory, *additive, *said;
    const Model& model;
    int ranks;
    double low;
  };
  for (const Line& l : {Line{"70B, 8 H100, NVLink 4", "dgx-h100", "dgx-h100", "nvlink-4", "25 %", llama_70b(), 8, 25},
                        {"70B, 8 H100, PCIe 5", "pcie5-8gpu", "dgx-h100", "pcie-5", "45 %", llama_70b(), 8, 45},
                        {"405B, 8 H100, NVLink 4", "dgx-h100", "dgx-h100", "nvlink-4", "25 %", llama_405b(), 8, 25},
                        {"405B, 4 B200, NVLink 5", "dgx-b200", "dgx-b200", "nvlink-5", "8 %", llama_405b(), 4, 8}}) {
    const System& system = machine(l.system);
    const double hbm = machine(l.memory).gpu.hbm_bandwidth.value.value();
    const double weights = l.model.parameters / l.model.layers;  // one byte each
    const double work = weights / (l.ranks * hbm);
    const double bytes = activation_bytes(l.model, 32);
    const AllReduce question{.bytes = Bytes::from_value(bytes), .ranks = l.ranks};
    const Prediction p = predict(system, question);
    const double naive = 2 * naive_time(system, question).value(), additive = 2 * additive_ring(l.additive)(bytes, l.ranks);
    out.rows.push_back({.label = l.label,
                        .said = l.said,
                        .beside = {{.value = work * 1e6, .unit = "us"},
                                   {.value = naive * 1e6, .unit = "us"},
                                   {.value = share(naive, work), .unit = "%", .decimals = 1},
                                   {.value = share(additive, work), .unit = "%", .decimals = 1},
                                   {.value = 2 * p.seconds * 1e6, .unit = "us", .low = 2e6 * p.low, .high = 2e6 * p.high}},
                        .ours = share_figure(p, 2, work),
                        .verdict = judge(l.low, l.low, share(2 * p.seconds, work)),
                        .shown = fmt::format("work {} MB / ({} x {} GB/s) = {} us; 2 x {} us; {}", text(weights / 1e6, 0), l.ranks,
                                             text(hbm / 1e9), text(work * 1e6), text(p.seconds * 1e6), ran_text(p))});
  }
  const double exposed = out.rows.front().ours.value;  // NVLink's share
  const double speed_up = 8 * (1 - exposed / 100);
  out.rows.push_back({.label = "70B, speed-up of 8 H100s",
          .said = "6x",
          .beside = std::vector<Figure>(5),
          .ours = {.value = speed_up, .unit = "x", .decimals = 1},
          .verdict = judge(6, 6, speed_up),
          .shown = fmt::format("8 x (1 - {} %)", text(exposed, 0))});
  // 70B, 80 layers, 875M parameters a layer on 1,979 TFLOP/s: the text's formula for the work
  const double flops = 2.0 * 32 * llama_70b().parameters / llama_70b().layers / machine("dgx-h100").gpu.fp8.value.value();
  out.remark = fmt::format(
      "Text 001 takes 12 us of work per layer; its own formula, 2 x 32 x 875M / 1,979 TFLOP/s, is {} us on one GPU and {} us on eight, and "
      "neither binds: reading the weights does. Llama 3 405B has {} layers, not "
      "80, and half the GPUs send {} of the bytes per GPU, not half. The predicted shares are NCCL's; kernels of inference engines are "
      "faster at these sizes. Over PCIe the prediction is for a board that goes through host memory (section 4, batch 1): its share bounds "
      "from above, the naive one from below.",
      text(flops * 1e6), text(flops / 8 * 1e6), llama_405b().layers,
      text(bus_factor(Collective::all_reduce, 4) / bus_factor(Collective::all_reduce, 8)));
  return out;
}

Table training_overhead() {
  Table out{.title = "Tensor parallelism when training a 70B, 4,096 tokens, 8 GPUs",
            .about =
                "Text 003 says the share falls with every NVLink. Four all-reduces a layer, two forward and two backward, none hidden "
                "behind work; work at half of the dense FP16 peak.",
            .beside = {"work per layer", "4 all-reduces, naive", "share, naive", "4 all-reduces, predicted"},
            .ours = "share, predicted",
            .rows = {}};
  const Model& m = llama_70b();
  const double tokens = 4096, bytes = activation_bytes(m, tokens);
  struct Line {
    const char *label, *system, *compute, *said;
    double low, high;
  };
  for (const Line& l : {Line{"PCIe 5, H100", "pcie5-8gpu", "dgx-h100", "40-60 %", 40, 60},
                        {"NVLink 4, H100", "dgx-h100", "dgx-h100", "5-10 %", 5, 10},
                        {"NVLink 5, B200", "dgx-b200", "dgx-b200", "3-5 %", 3, 5}}) {
    const double peak = machine(l.compute).gpu.fp16.value.value();
    const double work = 6 * m.layer_parameters * tokens / 8 / (0.5 * peak);
    const AllReduce question{.bytes = Bytes::from_value(bytes), .ranks = 8};
    const Prediction p = predict(machine(l.system), question);
    const double naive = 4 * naive_time(machine(l.system), question).value();
    Verdict verdict = judge(l.low, l.high, share(4 * p.seconds, work));
    if (verdict == Verdict::corrected && judge(l.low, l.high, share(naive, work)) == Verdict::reproduced) verdict = Verdict::qualified;
    out.rows.push_back(
        {.label = l.label,
         .said = l.said,
         .beside = {{.value = work * 1e3, .unit = "ms"},
                    {.value = naive * 1e3, .unit = "ms"},
                    {.value = share(naive, work), .unit = "%", .decimals = 0},
                    {.value = 4e3 * p.seconds, .unit = "ms", .low = 4e3 * p.low, .high = 4e3 * p.high}},
         .ours = share_figure(p, 4, work),
         .verdict = verdict,
         .shown = fmt::format("work 6 x {}M x 4,096 / 8 / (0.5 x {} TFLOP/s) = {} ms; 4 x {} MB; {}", text(m.layer_parameters / 1e6),
                              text(peak / 1e12), text(work * 1e3), text(bytes / 1e6), ran_text(p))});
  }
  out.remark =
      "From H100 to B200 the link doubles while the work shrinks more, so the share rises; it falls only if the transfers are hidden "
      "behind work. Over PCIe the text's range holds if all of the link could be used; "
      "the predicted share is for a board that goes through host memory.";
  return out;
}

}  // namespace seed_tables
