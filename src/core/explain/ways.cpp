/// Explains the gain of other ways to communicate over the library's own, and the sizes at which they lose.

#include "explain/sections.hpp"
#include "text/joined.hpp"
#include "text/text_table.hpp"

#include <fabricost/predict/compile.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace fabricost::core::detail {
namespace {

/// In words, without the names of options.
[[nodiscard]] std::string words_of(const Ways& w) {
  std::vector<std::string> out;
  if (w.symmetric) out.emplace_back(w.barrier_free ? "kernels over symmetric windows without barriers" : "kernels over symmetric windows");
  if (w.symmetric && w.ctas > 0) out.back() += fmt::format(" with {}", counted(w.ctas, "thread block"));
  if (w.any_buffer && !w.symmetric) out.emplace_back("NCCL's kernels for small buffers without a window");
  if (w.copy_engine) out.emplace_back("copy engines");
  if (!w.nvls) out.emplace_back("no in-switch reduction");
  if (w.redop != Reduction::sum) out.push_back(fmt::format("values combined by {}", name(w.redop)));
  if (!w.pxn) out.emplace_back("messages that cross rails");
  if (w.gin) out.emplace_back("a put that the GPU posts");
  if (w.put != Put::none && !w.gin) out.emplace_back("a put that the processor's proxy posts");
  if (w.relay) out.emplace_back("relays through idle GPUs");
  if (w.nic_block > 0) out.push_back(fmt::format("NICs filled {} at a time", size_text(Bytes::from_value(w.nic_block))));
  return joined(out);
}

/// The same request without the ways; a forced kernel over windows is none of the library's algorithms. A put that the GPU posts is
/// compared with the same put by the processor's proxy.
[[nodiscard]] Choice without(Choice choice) {
  if (choice.ways.symmetric) choice.algorithm = {};
  const Put end = choice.ways.put == Put::none ? Put::counter : choice.ways.put;
  choice.ways = choice.ways.gin ? Ways{.put = end} : Ways{};
  choice.launch = {};
  return choice;
}

/// "faster to 512 KiB, slower beyond": over powers of two from 8 B to 16 GiB.
[[nodiscard]] std::string where_it_pays(const Curve& with, const Curve& library) {
  std::string out;
  int before = 2;
  for (double size = 8; size <= 16 * gibibyte; size *= 2) {
    const double ratio = with.seconds(size) / library.seconds(size);
    const int now = ratio < 0.99 ? -1 : ratio > 1.01 ? 1 : 0;
    if (now == before) continue;
    const char* word = now < 0 ? "faster" : now > 0 ? "slower" : "the same";
    out += before == 2 ? std::string{word} : fmt::format(", {} from {} on", word, size_text(Bytes::from_value(size)));
    before = now;
  }
  return out;
}

}  // namespace

std::string explain_ways(const ExplainContext& context) {
  const Choice& choice = context.choice();
  if (!choice.ways.any() || context.system == nullptr) return "";
  const System& system = *context.system;
  Operation op = context.operation();
  const Choice plain = without(choice);
  Choice same = choice;
  same.launch = {};
  const Prediction base = predict(system, op, plain);
  const double mine = gpu_seconds(context.prediction);
  std::string out;
  const Fabric& f = base.made_from.fabric;
  if (choice.ways.copy_engine)
    out += wrapped("  ", fmt::format("Copy engines move the bytes ({}), and no SM works for it: those of the library's {} are left to "
                                     "compute. Starting the copies and the barriers around them take {}.",
                                     ran_text(context.prediction.ran),
                                     counted(running_channels(f.channels, tables_of(f.tuner)), "thread block"),
                                     time_text(Time::from_value(context.prediction.made_from.line.base))));
  else if (const CollectiveKernel ran = context.prediction.ran.kernel; ran >= CollectiveKernel::window_one_shot)
    out += wrapped("  ", fmt::format("{} runs: few trips over NVLink instead of the ring's many.", ran_text(context.prediction.ran)));
  else if (choice.ways.symmetric)
    out += wrapped("  ", "The library's own algorithm is faster at this size than kernels over windows, and runs.");
  out += wrapped("  ", fmt::format("Asked for: {}. {}: {} in {}, so that {} {} ({:.1f} %).", words_of(choice.ways),
                                   choice.ways.gin ? "The same, posted by the processor's proxy" : "Without", ran_text(base.ran),
                                   time_text(base.time()), mine <= base.seconds ? "it saves" : "it costs",
                                   time_text(Time::from_value(std::fabs(base.seconds - mine))),
                                   base.seconds > 0 ? 100 * std::fabs(1 - mine / base.seconds) : 0));
  return out + wrapped("  ", fmt::format("From 8 B to 16 GiB it is {}.",
                                         where_it_pays(compile_lines(system, op, same), compile_lines(system, op, plain))));
}

std::string explain_way_numbers(const ExplainContext& context) {
  const Ways& w = context.choice().ways;
  std::string out;
  const auto cite = [&](std::string_view what, std::string_view numbers, std::string_view on,
                        Confidence how = Confidence::measured) {
    out += wrapped(fmt::format("  {:<15}  ", what), fmt::format("data/priors/ways.yaml ({}): {}, {}", name(how), numbers, on));
  };
  switch (context.prediction.ran.kernel) {
    case CollectiveKernel::window_one_shot: cite("kernel", "one_shot, block_kib, overlap", "on GB200s of one rack"); break;
    case CollectiveKernel::window_two_shot: cite("kernel", "one_shot, two_shot, barrier, block_kib, overlap", "on GB200s of one rack"); break;
    case CollectiveKernel::window_exchange:
      if (gathers_or_scatters(context.operation().collective) && !w.barrier_free)
        cite("kernel", "gather_*", "as NCCL estimates it (src/tuning/sym_model)", Confidence::vendor_code);
      else
        cite("kernel", "one_shot, peer, signal, overlap", "on GB200s of one rack");
      break;
    case CollectiveKernel::window_flags:
      cite("kernel", "one_shot, peer, overlap", "on GB200s of one rack");
      cite("flags", "flags_bytes", "as NCCL's tuner counts them (src/tuning/sym_model.cc)", Confidence::vendor_code);
      break;
    case CollectiveKernel::any_buffer: cite("kernel", "any_start, any_hop, any_kib, any_overlap", "on 4 and 8 GB200s"); break;
    case CollectiveKernel::any_buffer_two_shot: cite("kernel", "any_two_start, any_two_hop, any_two_kib", "on 4 and 8 GB200s"); break;
    case CollectiveKernel::copy_engine:
    case CollectiveKernel::copy_engine_multicast:
      cite("copy engines", "ce_*", "as NCCL's tuner estimates them (src/tuning/ce_model.cc)", Confidence::vendor_code);
      break;
    default: break;
  }
  if (w.put != Put::none || w.gin)
    cite("put", w.gin ? "put_start, put_local, put_share" : "put_start, put_local, put_post, put_share, proxy_extra, proxy_until",
         "between two GB200s over one NIC of 400 Gbit/s");
  if (w.relay) cite("relay", "relay_share, relay_from", "on 2 and 4 of 8 MI350X");
  if (!w.pxn && context.operation().collective == Collective::all_to_all && context.fabric().domains() > 1)
    cite("crossed rails", "cross_rail", "between two nodes of Amazon's p5");
  return out;
}

}  // namespace fabricost::core::detail
