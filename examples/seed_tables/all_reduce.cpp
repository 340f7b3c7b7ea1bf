/// \file all_reduce.cpp
/// One all-reduce: its volume, the message of one layer, its time by interconnect, and the gradients of a whole model (texts 001,
/// 003 and 004). The texts divide bytes by both-ways rates and leave latency out; both effects are shown apart.

#include "specs.hpp"

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace seed_tables {

using namespace fabricost::observe;

double latency_share(const Prediction& p) {
  double wire = 0;
  for (const Term& term : p.terms)
    if (term.name == fabricost::core::name(TermKind::wire) || term.name == fabricost::core::name(TermKind::copy)) wire += term.time.value();
  return 100 * (1 - wire / p.seconds);
}

Table ring_volume() {
  Table out{.title = "Bytes a ring all-reduce sends",
            .about =
                "Text 004: each rank sends 2(N-1)/N of the buffer, near twice the buffer whatever the number of ranks, while the serial "
                "steps grow.",
            .beside = {"serial steps"},
            .ours = "sent by each rank, in buffers",
            .rows = {}};
  for (const int n : {2, 8, 64, 16384}) {
    const Schedule ring = schedule_of(Algorithm::ring, Collective::all_reduce, Levels{n});
    const double said = 2.0 * (n - 1) / n;
    out.rows.push_back({.label = fmt::format("{} ranks", text(n)),
                        .said = fmt::format("2 x {} / {}", text(n - 1), text(n)),
                        .beside = {{.value = ring.steps()}},
                        .ours = {.value = ring.bytes(0), .decimals = 5},
                        .verdict = judge(said, said, ring.bytes(0), 1e-12),
                        .shown = fmt::format("the ring schedule's own count; steps 2 x ({} - 1)", text(n))});
  }
  out.remark =
      "In-switch reduction (NVLS) sends S (1 + 1/n) instead: 1.125 against 1.75 buffers for 8 GPUs, at most 1.56 times less. Text 001 "
      "makes one step of it.";
  return out;
}

Table message_of_a_layer() {
  const Model& m = llama_70b();
  const double token = activation_bytes(m, 1);
  const double factor = bus_factor(Collective::all_reduce, 8);
  const double nvlink = gigabytes_per_second(machine("dgx-h100"), TierRole::scale_up);
  const double wire = 17e6 * 2 * m.layers * 48 * factor / 1e9;
  return {.title = "The message of one layer",
          .about = "Text 001 opens with 17 MB per layer, 80 layers, 48 tokens a second, 8-way tensor parallelism.",
          .rows = {{.label = "all-reduce of one token",
                    .said = "17 MB",
                    .ours = {.value = token / 1024, .unit = "KiB"},
                    .verdict = judge(17e6, 17e6, token),
                    .shown = fmt::format("hidden {} x 2 bytes; 17 MB is {} tokens, a prefill", text(m.hidden), text(17e6 / token, 0))},
                   {.label = "share of NVLink, for those 17 MB",
                    .said = "7 %",
                    .ours = {.value = 100 * wire / nvlink, .unit = "%", .decimals = 1},
                    .verdict = judge(7, 7, 100 * wire / nvlink, 0.05),
                    .shown = fmt::format("17 MB x 2 a layer x {} x 48 x {} = {} GB/s of {} one way", m.layers, text(factor), text(wire, 1),
                                         text(nvlink))},
                   {.label = "share of NVLink, one token at a time",
                    .said = "-",
                    .ours = {.value = 100 * token * 2 * m.layers * 48 * factor / 1e9 / nvlink, .unit = "%", .decimals = 2},
                    .verdict = Verdict::added,
                    .shown = fmt::format("{} KiB x 2 x {} x 48 x {} = {} GB/s: decoding is short of latency, not of bandwidth",
                                         text(token / 1024), m.layers, text(factor), text(token * 2 * m.layers * 48 * factor / 1e9))},
                   {.label = "message at batch 256",
                    .said = "4 MB",
                    .ours = {.value = activation_bytes(m, 256) / 1048576, .unit = "MiB"},
                    .verdict = judge(4e6, 4e6, activation_bytes(m, 256), 0.05),
                    .shown = fmt::format("256 x {} KiB", text(token / 1024))}}};
}

Table all_reduce_per_layer(int batch) {
  const Model& m = llama_70b();
  const double bytes = activation_bytes(m, batch);
  const int calls = 2 * m.layers;
  const std::string size = size_text(Bytes::from_value(bytes));
  Table out{
      .title = fmt::format("One all-reduce of a 70B layer, 8 GPUs, batch {} ({})", batch, size),
      .about =
          batch == 1
              ? "Text 001's table of batch 1. Going from its column to the naive one only takes the directions apart; going on to the "
                "prediction adds latency, and over PCIe the way through the host."
              : fmt::format(
                    "The same at batch {}, where the text has no table of its own: its column is its rule, {} x S over the both-ways rate.",
                    batch, text(bus_factor(Collective::all_reduce, 8))),
      .beside = {"naive, one way", "latency share", fmt::format("{} of them, the text", calls),
                 fmt::format("{} of them, predicted", calls)},
      .ours = "one, predicted",
      .rows = {}};
  struct Line {
    const char *label, *system;
    double both_ways;     ///< GB/s
    double microseconds;  ///< at batch 1
    double total_microseconds;
  };
  double largest_naive_share = 0;  // over NVLink
  const auto add = [&](std::string label, std::string said, Figure said_total, const System& system, const Choice& choice,
                       Verdict verdict) -> Row& {
    const AllReduce question{.bytes = Bytes::from_value(bytes), .ranks = 8};
    const Prediction p = predict(system, question, choice);
    const double naive = naive_time(system, question).value();
    if (tier(system, TierRole::scale_up).kind != TierKind::host && verdict != Verdict::added)
      largest_naive_share = std::max(largest_naive_share, 100 * naive / p.seconds);
    return out.rows.emplace_back(Row{.label = std::move(label),
                                     .said = std::move(said),
                                     .beside = {{.value = naive * 1e6, .unit = "us"},
                                                {.value = latency_share(p), .unit = "%", .decimals = 0},
                                                std::move(said_total),
                                                {.value = p.seconds * calls * 1e3, .unit = "ms"}},
                                     .ours = time_figure(p, 1e-6, "us"),
                                     .verdict = verdict,
                                     .shown = fmt::format("{}; {}", sum_text(p, 1e-6, "us"), ran_text(p))});
  };
  for (const Line& l : {Line{"PCIe 4", "pcie4-8gpu", 64, 0.45, 71.2},
                        {"PCIe 5", "pcie5-8gpu", 128, 0.22, 35.6},
                        {"NVLink 3, A100", "dgx-a100", 600, 0.048, 7.6},
                        {"NVLink 4, H100", "dgx-h100", 900, 0.032, 5.1},
                        {"NVLink 5, B200", "dgx-b200", 1800, 0.016, 2.5}}) {
    const double said = batch == 1 ? l.microseconds : bus_factor(Collective::all_reduce, 8) * bytes / (l.both_ways * 1e3);
    const double said_total = batch == 1 ? l.total_microseconds : said * calls;
    Row& row = add(l.label, fmt::format("{} us at {} GB/s", batch == 1 ? fmt::format("{}", said) : text(said), text(l.both_ways)),
                   {.value = said_total, .unit = "us"}, machine(l.system), {}, Verdict::corrected);
    row.verdict = judge(said, said, row.ours.value);
    if (std::string_view{l.system}.starts_with("pcie")) {
      Row& direct = add(fmt::format("{}, peer to peer", l.label), row.said, {.value = said_total, .unit = "us"}, peer_to_peer(l.system), {},
                        Verdict::corrected);
      direct.verdict = judge(said, said, direct.ours.value);
    }
  }
  if (batch == 1) {
    add("NVLink 4, H100, an inference engine's kernel", "-", {}, machine("dgx-h100"), {.algorithm = Algorithm::one_shot}, Verdict::added);
    out.remark = fmt::format(
        "At batch 1 the naive volume is at most {} % of the time over NVLink, so a newer NVLink does not help. NCCL's all-reduce over 8 "
        "GPUs does not take the 1-2 us that text 001 then allows for any generation; the one-shot "
        "kernels of inference engines, in which every GPU reads its peers' memory, come closer (the last row, priced from its schedule "
        "alone: `fabricost predict --algorithm one_shot`).\n\n"
        "No machine of the PCIe rows was measured. Their constants come from eight L40S spread over two sockets, whose "
        "traffic passes through host memory. Where GPUs write into each other's memory instead (*peer to peer*) large messages are many "
        "times "
        "faster; those rows rest on published rates of such boards. Over PCIe the board decides, not the link: measure it.",
        text(largest_naive_share, 1));
  } else {
    out.remark =
        batch == 256
            ? "Text 001 says bandwidth dominates at batch 256. Over PCIe it does; over NVLink 4 and 5 latency is still the larger part. "
            : "";
    out.remark += "PCIe rows without *peer to peer* are for a board that goes through host memory: see batch 1.";
  }
  return out;
}

Table gradient_sync() {
  const double buffer = 4 * 70e9;  // FP32
  const double wire = bus_factor(Collective::all_reduce, 8) * buffer;
  Table out{.title = "Gradients of a 70B model over 8 GPUs",
            .about = fmt::format("Text 003: 280 GB of FP32 gradients. That is the buffer; a ring sends {} x 280 = {} GB per GPU and "
                                 "direction. The text gives two answers for the same transfer, "
                                 "and both leave the factor out.",
                                 text(bus_factor(Collective::all_reduce, 8)), text(wire / 1e9)),
            .beside = {"one plain copy of 280 GB", "naive, one way"},
            .ours = "predicted",
            .rows = {}};
  struct Line {
    const char *label, *system, *said;
    double low, high;
  };
  for (const Line& l : {Line{"PCIe 5", "pcie5-8gpu", "2.2 s; 5.6 s", 2.2, 5.6},
                        {"PCIe 5, peer to peer", "pcie5-8gpu", "2.2 s; 5.6 s", 2.2, 5.6},
                        {"NVLink 4", "dgx-h100", "0.31 s; 0.08 s", 0.08, 0.31},
                        {"NVLink 5", "dgx-b200", "0.16 s", 0.16, 0.16}}) {
    const System& system = std::string_view{l.label}.ends_with("peer to peer") ? peer_to_peer(l.system) : machine(l.system);
    const AllReduce question{.bytes = Bytes::from_value(buffer), .ranks = 8, .dtype = DataType::single};
    const Prediction p = predict(system, question);
    const double rate = gigabytes_per_second(system, TierRole::scale_up);
    const Time naive = naive_time(system, question);
    out.rows.push_back({.label = l.label,
                        .said = l.said,
                        .beside = {{.value = buffer / 1e9 / rate, .unit = "s"}, {.value = naive.value(), .unit = "s"}},
                        .ours = time_figure(p, 1, "s"),
                        .verdict = judge(l.low, l.high, naive.value()),
                        .shown = fmt::format("naive {} GB / {} GB/s = {} s; predicted {}; {}", text(wire / 1e9), text(rate),
                                             text(naive.value()), sum_text(p, 1, "s"), ran_text(p))});
  }
  const System& h = machine("dgx-h100");
  const AllReduce half{.bytes = Bytes::from_value(buffer / 2), .ranks = 8};
  const Prediction p = predict(h, half);
  out.rows.push_back({.label = "NVLink 4, BF16 gradients",
                      .said = "-",
                      .beside = {{.value = buffer / 2e9 / gigabytes_per_second(h, TierRole::scale_up), .unit = "s"},
                                 {.value = naive_time(h, half).value(), .unit = "s"}},
                      .ours = time_figure(p, 1, "s"),
                      .verdict = Verdict::added,
                      .shown = "half the bytes, half the time"});
  const double nic = gigabytes_per_second(h, TierRole::nic);
  out.rows.push_back({.label = "100B in BF16 over one NIC each",
                      .said = "200 GB in a few hundred ms (004)",
                      .beside = {{.value = 200 / nic, .unit = "s"}, {.value = 2 * 200 / nic, .unit = "s"}},
                      .ours = {.value = 2 * 200 / nic / 64, .unit = "s", .note = "naive, sharded 64 ways"},
                      .verdict = Verdict::qualified,
                      .shown = fmt::format("2 x 200 GB / {} GB/s = {} s for a whole copy; it is never whole: split over 64 GPUs by tensor "
                                           "and pipeline parallelism it is {} GB",
                                           text(nic), text(2 * 200 / nic), text(200.0 / 64, 3))});
  out.remark =
      "NVLS adds inside the switches and sends fewer bytes than a ring, which is why NVLink 4 comes out below its naive time. The \"70x "
      "difference\" (003) between its 0.08 and 5.6 s divides HBM's rate by InfiniBand's.";
  out.remark += fmt::format(
      " One way, NVLink 4 is {} times PCIe 5. The first PCIe row is for a board that goes through host memory; see the "
      "remark under batch 1.",
      text(gigabytes_per_second(h, TierRole::scale_up) / gigabytes_per_second(machine("pcie5-8gpu"), TierRole::scale_up)));
  return out;
}

}  // namespace seed_tables
