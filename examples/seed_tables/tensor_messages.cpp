/// \file tensor_messages.cpp
/// The messages of tensor parallelism, counted from the library's list (texts 001 and 003), and the step of Llama 3 405B on the two
/// machines text 001 compares.

#include "specs.hpp"

#include <fabricost/explain/explain.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace seed_tables {

using namespace fabricost::plan;

namespace {

std::string names(const TensorMessages& messages) {
  std::string out;
  for (const TensorMessage& m : messages) {
    out += out.empty() ? "" : ", ";
    out += m.name;
  }
  return out;
}

}  // namespace

Table tensor_messages() {
  const fabricost::plan::Model& m = llama_70b().shape;
  const TensorQuestion decode = tensor_question(32, 8), train = tensor_question(4096, 8), sequence = tensor_question(4096, 8, true);
  const TensorMessages forward = tensor_forward(m, train), backward = tensor_backward(m, train);
  const double all = forward.wire_bytes(8) + backward.wire_bytes(8);
  const double sharded = tensor_forward(m, sequence).wire_bytes(8);
  const double rate = tensor_forward(m, decode).wire_bytes(8) / 2 / 5e-6 / 1e9;
  const auto ratio = [](double bytes) {
    const AllReduce one{.bytes = Bytes::from_value(bytes), .ranks = 8};
    return predict(peer_to_peer("pcie5-8gpu"), one).seconds / predict(machine("dgx-h100"), one).seconds;
  };
  const double small = ratio(16384), large = ratio(1073741824);
  return {
      .title = "What tensor parallelism sends in a layer",
      .about =
          "Texts 001 and 003, for a 70B over 8 GPUs: a column-parallel product followed by a row-parallel one leaves partial sums only "
          "after "
          "the second.",
      .rows = {
          {.label = "all-reduces of a layer, forward",
           .said = "2 (001)",
           .ours = {.value = forward.count(Collective::all_reduce)},
           .verdict = judge(2, 2, forward.count(Collective::all_reduce)),
           .shown = names(forward)},
          {.label = "where they stand",
           .said = "one after the column-, one after the row-parallel product (001)",
           .ours = {.note = "both after row-parallel products"},
           .verdict = Verdict::corrected,
           .shown = fmt::format("{}; the column-parallel ones (q, k, v; gate, up) need none forward", names(forward))},
          {.label = "all-reduces of a layer, forward and backward",
           .said = "one all-gather a layer (003)",
           .ours = {.value = forward.count(Collective::all_reduce) + backward.count(Collective::all_reduce)},
           .verdict = Verdict::corrected,
           .shown = fmt::format("{}, {}; {} MB a GPU and direction for 4,096 tokens", names(forward), names(backward), text(all / 1e6))},
          {.label = "the same with sequence parallelism, forward",
           .said = "all-gather (003)",
           .ours = {.value = sharded / 1e6, .unit = "MB"},
           .verdict = judge(forward.wire_bytes(8), forward.wire_bytes(8), sharded, 1e-9) == Verdict::reproduced ? Verdict::qualified
                                                                                                                : Verdict::corrected,
           .shown = fmt::format("{} all-gathers and {} reduce-scatters of {} MB: the bytes of the all-reduces, {} MB",
                                text(tensor_forward(m, sequence).count(Collective::all_gather)),
                                text(tensor_forward(m, sequence).count(Collective::reduce_scatter)),
                                text(tensor_message_bytes(m, sequence) / 1e6), text(forward.wire_bytes(8) / 1e6))},
          {.label = "rate that makes one all-reduce of batch 32 take 5 us",
           .said = "hundreds of GB/s (001)",
           .ours = {.value = rate, .unit = "GB/s"},
           .verdict = Verdict::qualified,
           .shown = fmt::format("1.75 x {} KiB / 5 us; no rate brings NCCL's there, whose latency alone is above 15 us",
                                text(tensor_message_bytes(m, decode) / 1024))},
          {.label = "PCIe 5 over NVLink 4, one all-reduce of 16 KiB",
           .said = "7-14x (001)",
           .ours = {.value = small, .unit = "x"},
           .verdict = judge(7, 14, small),
           .shown = "both latency; PCIe where GPUs reach each other's memory"},
          {.label = "PCIe 5 over NVLink 4, one all-reduce of 1 GiB",
           .said = "7-14x (001)",
           .ours = {.value = large, .unit = "x"},
           .verdict = judge(7, 14, large),
           .shown = fmt::format("links alone {}; switches add inside NVLink's, and two sockets take from PCIe's",
                                text(gigabytes_per_second(machine("dgx-h100"), TierRole::scale_up) /
                                     gigabytes_per_second(machine("pcie5-8gpu"), TierRole::scale_up)))}}};
}

Table large_model_step() {
  struct Machine {
    const char* system;
    int ranks;
    double work = 0, communication = 0;
    [[nodiscard]] double step() const { return llama_405b().layers * (work + communication); }
    [[nodiscard]] double share() const { return 100 * ParallelCost{communication, work, ranks}.share(); }
  };
  const Model& m = llama_405b();
  const auto of = [&](const char* system, int ranks) {
    Machine out{.system = system, .ranks = ranks};
    out.work = m.parameters / m.layers / (ranks * machine(system).gpu.hbm_bandwidth.value.value());
    out.communication = TensorCurve{machine(system), ranks}.seconds(tensor_forward(m.shape, tensor_question(32, ranks)));
    return out;
  };
  const Machine h = of("dgx-h100", 8), b = of("dgx-b200", 4);
  const double per_gpu = bus_factor(Collective::all_reduce, 4) / bus_factor(Collective::all_reduce, 8);
  const double calls = tensor_forward(m.shape, tensor_question(1, 8)).count(Collective::all_reduce) * m.layers;
  const auto step_text = [&](const Machine& one) {
    return fmt::format("{} x ({} + {}) us: weights {} MB a layer in 8 bit / ({} x {} GB/s), two all-reduces of 1 MiB over {}", m.layers,
                       text(one.work * 1e6), text(one.communication * 1e6), text(m.parameters / m.layers / 1e6), one.ranks,
                       text(machine(one.system).gpu.hbm_bandwidth.value.value() / 1e9), one.ranks);
  };
  return {
      .title = "Llama 3 405B on 8 H100s and on 4 B200s, batch 32",
      .about = "Text 001 compares the two with 80 layers and a share copied from the 70B. Decoding, the KV cache left out as in the text.",
      .rows = {{.label = "layers",
                .said = "80",
                .ours = {.value = static_cast<double>(m.layers)},
                .verdict = judge(80, 80, m.layers),
                .shown = "hidden 16,384, 128 heads, 8 KV heads"},
               {.label = "all-reduces a token",
                .said = "160",
                .ours = {.value = calls},
                .verdict = judge(160, 160, calls),
                .shown = fmt::format("2 x {}", m.layers)},
               {.label = "message of one token",
                .said = "-",
                .ours = {.value = activation_bytes(m, 1) / 1024, .unit = "KiB"},
                .verdict = Verdict::added,
                .shown = "16,384 x 2 bytes; at batch 32 1 MiB"},
               {.label = "bytes sent by a GPU, 4 over 8",
                .said = "half",
                .ours = {.value = per_gpu, .unit = "x"},
                .verdict = judge(0.5, 0.5, per_gpu),
                .shown = fmt::format("1.5 / 1.75; all GPUs together 6 / 14 = {}", text(6.0 / 14, 2))},
               {.label = "share, 8 H100s",
                .said = "25 %",
                .ours = {.value = h.share(), .unit = "%", .decimals = 0},
                .verdict = judge(25, 25, h.share()),
                .shown = "NCCL's, latency included"},
               {.label = "share, 4 B200s",
                .said = "8 %",
                .ours = {.value = b.share(), .unit = "%", .decimals = 0},
                .verdict = judge(8, 8, b.share()),
                .shown = "fewer steps, each slower, beside less work"},
               {.label = "of ideal, 8 H100s",
                .said = "75 %",
                .ours = {.value = 100 - h.share(), .unit = "%", .decimals = 0},
                .verdict = judge(75, 75, 100 - h.share()),
                .shown = "the reference is the same GPUs without communication"},
               {.label = "of ideal, 4 B200s",
                .said = "92 %",
                .ours = {.value = 100 - b.share(), .unit = "%", .decimals = 0},
                .verdict = judge(92, 92, 100 - b.share()),
                .shown = fmt::format("within {} points of the H100s, not 17", text(std::fabs(h.share() - b.share()), 1))},
               {.label = "step, 8 H100s",
                .said = "-",
                .ours = {.value = h.step() * 1e3, .unit = "ms", .decimals = 1},
                .verdict = Verdict::added,
                .shown = step_text(h)},
               {.label = "step, 4 B200s",
                .said = "-",
                .ours = {.value = b.step() * 1e3, .unit = "ms", .decimals = 1},
                .verdict = Verdict::added,
                .shown = step_text(b)},
               {.label = "tokens a second, 4 B200s over 8 H100s",
                .said = "higher",
                .ours = {.value = h.step() / b.step(), .unit = "x", .decimals = 2},
                .verdict = h.step() > b.step() ? Verdict::reproduced : Verdict::corrected,
                .shown = fmt::format("{} / {} ms; {} times per GPU", text(h.step() * 1e3, 1), text(b.step() * 1e3, 1),
                                     text(2 * h.step() / b.step(), 1))}}};
}

}  // namespace seed_tables
