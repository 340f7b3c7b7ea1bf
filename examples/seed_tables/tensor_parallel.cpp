/// \file tensor_parallel.cpp
/// The cost of tensor parallelism: the share of two all-reduces a layer beside the layer's own work, when decoding (text 001) and
/// when training (text 003). Messages and their price are the library's (training/tensor_parallel.hpp); the work is the texts' own
/// arithmetic, and attention over the KV cache is left out as in the texts.
///
///   share = t / (t + work)     work when decoding: the larger of weights / (GPUs x HBM rate) and flops / (GPUs x peak); when training:
///                              flops / (50 % of peak); t: all messages of the layer, one after the other, none hidden

#include "specs.hpp"

#include <fabricost/explain/explain.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace seed_tables {

using namespace fabricost::plan;

namespace {

double percent(double communication, double work) { return 100 * ParallelCost{communication, work, 1}.share(); }

/// Percent with the interval of the predicted collective carried over.
Figure share_figure(double communication, const Prediction& p, double work) {
  return {.value = percent(communication, work),
          .unit = "%",
          .decimals = 0,
          .low = percent(communication * p.low / p.seconds, work),
          .high = percent(communication * p.high / p.seconds, work)};
}
/// Seconds as a figure with the interval of one of the collectives.
Figure sum_figure(double communication, const Prediction& p, double unit, const char* name) {
  return {.value = communication / unit,
          .unit = name,
          .low = communication * p.low / p.seconds / unit,
          .high = communication * p.high / p.seconds / unit};
}

/// One layer of `tokens` tokens with a byte a weight: memory or arithmetic, whichever takes longer.
struct LayerWork {
  double memory = 0, arithmetic = 0;
  [[nodiscard]] double seconds() const { return std::max(memory, arithmetic); }
};
LayerWork decode_work(const Model& m, const Gpu& g, int ranks, double tokens) {
  const double weights = m.parameters / m.layers;
  const double peak = g.fp8.value.value() > 0 ? g.fp8.value.value() : g.int8.value.value();
  return {weights / (ranks * g.hbm_bandwidth.value.value()), 2 * tokens * weights / (ranks * peak)};
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
    const char *label, *memory, *additive, *said;
    const System& system;
    const Model& model;
    int ranks;
    double low;
  };
  for (const Line& l : {Line{"70B, 8 H100, NVLink 4", "dgx-h100", "nvlink-4", "25 %", machine("dgx-h100"), llama_70b(), 8, 25},
                        {"70B, 8 H100, PCIe 5", "dgx-h100", "pcie-5", "45 %", machine("pcie5-8gpu"), llama_70b(), 8, 45},
                        {"70B, 8 H100, PCIe 5, peer to peer", "dgx-h100", "pcie-5", "45 %", peer_to_peer("pcie5-8gpu"), llama_70b(), 8, 45},
                        {"405B, 8 H100, NVLink 4", "dgx-h100", "nvlink-4", "25 %", machine("dgx-h100"), llama_405b(), 8, 25},
                        {"405B, 4 B200, NVLink 5", "dgx-b200", "nvlink-5", "8 %", machine("dgx-b200"), llama_405b(), 4, 8}}) {
    const Gpu& gpu = machine(l.memory).gpu;
    const double work = decode_work(l.model, gpu, l.ranks, 32).seconds();
    const TensorQuestion question = tensor_question(32, l.ranks);
    const double predicted = TensorCurve{l.system, l.ranks}.seconds(tensor_forward(l.model.shape, question));
    const AllReduce one{.bytes = Bytes::from_value(activation_bytes(l.model, 32)), .ranks = l.ranks};
    const Prediction p = predict(l.system, one);
    const double naive = 2 * naive_time(l.system, one).value(), additive = 2 * additive_ring(l.additive)(one.bytes.value(), l.ranks);
    out.rows.push_back(
        {.label = l.label,
         .said = l.said,
         .beside = {{.value = work * 1e6, .unit = "us"},
                    {.value = naive * 1e6, .unit = "us"},
                    {.value = percent(naive, work), .unit = "%", .decimals = 1},
                    {.value = percent(additive, work), .unit = "%", .decimals = 1},
                    sum_figure(predicted, p, 1e-6, "us")},
         .ours = share_figure(predicted, p, work),
         .verdict = judge(l.low, l.low, percent(predicted, work)),
         .shown = fmt::format("work {} MB / ({} x {} GB/s) = {} us; 2 x {} us; {}", text(l.model.parameters / l.model.layers / 1e6, 0),
                              l.ranks, text(gpu.hbm_bandwidth.value.value() / 1e9), text(work * 1e6), text(p.seconds * 1e6), ran_text(p))});
  }
  const double work = out.rows.front().beside[0].value, communication = out.rows.front().beside[4].value;  // NVLink's
  const ParallelCost eight{communication, work, 8};
  out.rows.push_back(
      {.label = "70B, speed-up of 8 H100s",
       .said = "6x",
       .beside = std::vector<Figure>(5),
       .ours = {.value = eight.speed_up(), .unit = "x", .decimals = 1},
       .verdict = judge(6, 6, eight.speed_up()),
       .shown = fmt::format("8 x {} / ({} + {}), against one GPU that could hold it", text(work), text(work), text(communication))});
  // 70B, 80 layers, 875M parameters a layer on 1,979 TFLOP/s: the text's formula for the work
  const double flops = decode_work(llama_70b(), machine("dgx-h100").gpu, 1, 32).arithmetic;
  out.remark = fmt::format(
      "Text 001 takes 12 us of work per layer; its own formula, 2 x 32 x 875M / 1,979 TFLOP/s, is {} us on one GPU and {} us on eight, and "
      "neither binds: reading the weights does. Llama 3 405B has {} layers, not "
      "80, and half the GPUs send {} of the bytes per GPU, not half. The predicted shares are NCCL's; kernels of inference engines are "
      "faster at these sizes. Over PCIe the board decides: through host memory (section 4, batch 1) it is several times dearer than where "
      "GPUs write into each other's memory.",
      text(flops * 1e6), text(flops / 8 * 1e6), llama_405b().layers,
      text(bus_factor(Collective::all_reduce, 4) / bus_factor(Collective::all_reduce, 8)));
  return out;
}

Table decode_overhead_by_link(int batch) {
  const Model& m = llama_70b();
  Table out{.title = fmt::format("Decoding a 70B over 8 GPUs by interconnect, batch {}", batch),
            .about = fmt::format("The texts' all-reduce tables (section 4) put beside the work they interrupt: {} layers of 875 MB in 8 "
                                 "bit, two all-reduces of {} KiB "
                                 "each. The work is what the GPU named takes; *step* is one token of every sequence.",
                                 m.layers, text(activation_bytes(m, batch) / 1024)),
            .beside = {"work per layer", "2 all-reduces, naive", "share, naive", "2 all-reduces, predicted", "step, predicted"},
            .ours = "share, predicted",
            .rows = {}};
  struct Line {
    const char *label, *gpu;
    const System& system;
    bool said;
  };
  for (const Line& l : {Line{"PCIe 4, A100", "a100-pcie-80", machine("pcie4-8gpu"), false},
                        {"PCIe 4, A100, peer to peer", "a100-pcie-80", peer_to_peer("pcie4-8gpu"), false},
                        {"PCIe 5, H100", "h100-sxm", machine("pcie5-8gpu"), true},
                        {"PCIe 5, H100, peer to peer", "h100-sxm", peer_to_peer("pcie5-8gpu"), true},
                        {"NVLink 3, A100", "a100-sxm-80", machine("dgx-a100"), false},
                        {"NVLink 4, H100", "h100-sxm", machine("dgx-h100"), true},
                        {"NVLink 5, B200", "b200-sxm", machine("dgx-b200"), false}}) {
    const LayerWork layer = decode_work(m, gpu(l.gpu), 8, batch);
    const double work = layer.seconds();
    const AllReduce one{.bytes = Bytes::from_value(activation_bytes(m, batch)), .ranks = 8};
    const Prediction p = predict(l.system, one);
    const double predicted = TensorCurve{l.system, 8}.seconds(tensor_forward(m.shape, tensor_question(batch, 8)));
    const double naive = 2 * naive_time(l.system, one).value();
    const double step = m.layers * (work + predicted);
    const bool claimed = batch == 32 && l.said;
    const double said = l.label[0] == 'P' ? 45 : 25;
    out.rows.push_back({.label = l.label,
                        .said = claimed ? fmt::format("{} %", text(said)) : "-",
                        .beside = {{.value = work * 1e6, .unit = "us"},
                                   {.value = naive * 1e6, .unit = "us"},
                                   {.value = percent(naive, work), .unit = "%", .decimals = 1},
                                   sum_figure(predicted, p, 1e-6, "us"),
                                   {.value = step * 1e3, .unit = "ms"}},
                        .ours = share_figure(predicted, p, work),
                        .verdict = claimed ? judge(said, said, percent(predicted, work)) : Verdict::added,
                        .shown = fmt::format("{} bound, {} us; 2 x {} us; {}; {} x the speed of one GPU",
                                             layer.memory >= layer.arithmetic ? "memory" : "arithmetic", text(work * 1e6),
                                             text(p.seconds * 1e6), ran_text(p), text(ParallelCost{predicted, work, 8}.speed_up()))});
  }
  if (batch == 1)
    out.remark =
        "One sequence at a time, latency decides: a newer NVLink does not lower the share, and PCIe costs little more where GPUs reach "
        "each other.";
  if (batch == 32) out.remark = "Text 001 gives a share for two of these; the others are ours.";
  if (batch == 256)
    out.remark =
        "The message has grown to 4 MiB. Over PCIe bandwidth now decides and most of the time goes into it; over NVLink latency still is "
        "the larger part.";
  return out;
}

Table training_overhead() {
  Table out{.title = "Tensor parallelism when training a 70B, 4,096 tokens, 8 GPUs",
            .about =
                "Text 003 says the share falls with every NVLink. Four all-reduces a layer, two forward and two backward, none hidden "
                "behind work; work at half of the dense FP16 peak.",
            .beside = {"work per layer", "4 all-reduces, naive", "share, naive", "4 all-reduces, predicted", "with sequence parallelism"},
            .ours = "share, predicted",
            .rows = {}};
  const Model& m = llama_70b();
  const double tokens = 4096, bytes = activation_bytes(m, tokens);
  const auto layer = [&](const System& system, bool sequence_parallel) {
    const TensorQuestion question = tensor_question(tokens, 8, sequence_parallel);
    const TensorCurve curve{system, 8};
    return curve.seconds(tensor_forward(m.shape, question)) + curve.seconds(tensor_backward(m.shape, question));
  };
  const auto work_on = [&](const char* compute) {
    return 6 * m.layer_parameters * tokens / 8 / (0.5 * machine(compute).gpu.fp16.value.value());
  };
  struct Line {
    const char *label, *compute, *said;
    const System& system;
    double low, high;
  };
  for (const Line& l : {Line{"PCIe 5, H100", "dgx-h100", "40-60 %", machine("pcie5-8gpu"), 40, 60},
                        {"PCIe 5, H100, peer to peer", "dgx-h100", "40-60 %", peer_to_peer("pcie5-8gpu"), 40, 60},
                        {"NVLink 4, H100", "dgx-h100", "5-10 %", machine("dgx-h100"), 5, 10},
                        {"NVLink 5, B200", "dgx-b200", "3-5 %", machine("dgx-b200"), 3, 5}}) {
    const double work = work_on(l.compute), predicted = layer(l.system, false);
    const AllReduce question{.bytes = Bytes::from_value(bytes), .ranks = 8};
    const Prediction p = predict(l.system, question);
    const double naive = 4 * naive_time(l.system, question).value();
    Verdict verdict = judge(l.low, l.high, percent(predicted, work));
    if (verdict == Verdict::corrected && judge(l.low, l.high, percent(naive, work)) == Verdict::reproduced) verdict = Verdict::qualified;
    out.rows.push_back(
        {.label = l.label,
         .said = l.said,
         .beside = {{.value = work * 1e3, .unit = "ms"},
                    {.value = naive * 1e3, .unit = "ms"},
                    {.value = percent(naive, work), .unit = "%", .decimals = 0},
                    sum_figure(predicted, p, 1e-3, "ms"),
                    {.value = 1e3 * layer(l.system, true), .unit = "ms"}},
         .ours = share_figure(predicted, p, work),
         .verdict = verdict,
         .shown = fmt::format("work 6 x {}M x 4,096 / 8 / (0.5 x {} TFLOP/s) = {} ms; 4 x {} MB; {}", text(m.layer_parameters / 1e6),
                              text(machine(l.compute).gpu.fp16.value.value() / 1e12), text(work * 1e3), text(bytes / 1e6), ran_text(p))});
  }
  // c work of the layer on one GPU, m communication: t8 = c/8 + m over PCIe, t4 = c/4 + m' over NVLink
  const double work = 8 * work_on("dgx-h100");
  const double nvlink = 4 * predict(machine("dgx-h100"), AllReduce{.bytes = Bytes::from_value(bytes), .ranks = 4}).seconds;
  const double eight = work / 8 + layer(peer_to_peer("pcie5-8gpu"), false), four = work / 4 + nvlink;
  out.rows.push_back({.label = "8 over PCIe 5 against 4 over NVLink 4",
                      .said = "can be slower",
                      .beside = std::vector<Figure>(5),
                      .ours = {.value = eight / four, .unit = "x", .decimals = 2, .note = "time of 8 over time of 4"},
                      .verdict = eight > four ? Verdict::reproduced : Verdict::corrected,
                      .shown = fmt::format("({} / 8 + {}) / ({} / 4 + {}) ms, peer to peer; through host memory {} ms of messages",
                                           text(work * 1e3), text(1e3 * (eight - work / 8)), text(work * 1e3), text(nvlink * 1e3),
                                           text(1e3 * layer(machine("pcie5-8gpu"), false)))});
  out.remark =
      "From H100 to B200 the link doubles while the work shrinks more, so the share rises; it falls only if the transfers are hidden "
      "behind work. Over PCIe the text's range holds if all of the link could be used; "
      "boards reach less, least through host memory. Sequence parallelism sends the same bytes as pairs of all-gather and reduce-scatter, "
      "and "
      "gathers the saved inputs once more in the backward.";
  return out;
}

}  // namespace seed_tables
