/// Explains what engines add to an all-reduce: kernels of their own below a size, a call from Python, the
/// norm that follows.

#include "explain/sections.hpp"
#include "text/text_table.hpp"

#include <fabricost/price/custom_reduce.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::core {
namespace detail {
namespace {

/// "vllm 0.14.0"; "vllm" for the newest known.
[[nodiscard]] std::string engine_text(const Inference& engine) {
  std::string out{name(engine.library)};
  if (const int v = engine.version; v > 0) out += fmt::format(" {}.{}.{}", v / 1000000, v / 1000 % 1000, v % 1000);
  return out;
}

/// "below 8 MiB", "to 16 MiB": a limit is stored as the first size beyond it.
[[nodiscard]] std::string until_text(double until) {
  const double whole = std::floor(until);
  return fmt::format("{} {}", until > whole ? "to" : "below", size_text(Bytes::from_value(whole)));
}

}  // namespace

std::string explain_engine(const ExplainContext& context) {
  const Inference& engine = context.choice().inference;
  if (engine.library == InferenceLibrary::none || context.operation().collective != Collective::all_reduce) return "";
  const std::string who = engine_text(engine);
  const ReducePieces& pieces = context.prediction.made_from.engine;
  if (context.choice().rule == Choice::Rule::fastest)
    return wrapped("  ", fmt::format("By price: kernels of {} and the library's are compared.", who));
  if (pieces.count == 0 && (context.choice().algorithm || context.choice().protocol))
    return wrapped("  ", fmt::format("A forced algorithm or protocol of the library's own: kernels of {} stand aside.", who));
  const Fabric& f = context.fabric();
  if (pieces.count == 0)
    return wrapped("  ", fmt::format("{} has no kernel of its own for {} in {} here; the library runs at every size.", who,
                                     counted(f.ranks(), "rank"), counted(f.domains(), "scale-up domain")));
  std::string out = wrapped("  ", fmt::format("{} runs kernels of its own by size, and the library's beyond.", who));
  TextTable table{"kernel", "sizes", context.system != nullptr ? ">price at this size, us" : "", ""};
  for (const ReducePieces::Piece& piece : pieces)
    table.row({ran_text(candidate_of(piece.kernel)), until_text(piece.until),
               context.system != nullptr ? micro(price_custom(piece.kernel, f, context.system->constants)(context.bytes())) : "",
               piece.kernel == context.prediction.ran.kernel ? "<- runs" : ""});
  table.row({"the library's", "beyond", "", context.engine_ran() ? "" : "<- runs"});
  return out + table.text(2);
}

std::string explain_host_call(const HostCall& call) {
  if (!(call.launch > 0)) return "";
  const double gpu = call.kernel + call.extra + call.copy;
  std::string out = "  d: called from Python, the host and the GPU beside each other\n";
  TextTable table{"", "", "", "", ">"};
  table.row({"host", "launch", "", "=", micro(call.launch)});
  table.row({"GPU", "kernel + what it takes longer + copy of the buffer",
             fmt::format("{} + {} + {}", micro(call.kernel), micro(call.extra), micro(call.copy)), "=", micro(gpu)});
  return out + table.text(4) +
         fmt::format("  time = ({1}^{0:.6g} + {2}^{0:.6g})^(1/{0:.6g}) = {3} us\n", call.overlap, micro(call.launch), micro(gpu),
                     micro(call.seconds()));
}

double gpu_seconds(const Prediction& p) {
  if (p.made_from.gpu_seconds > 0) return p.made_from.gpu_seconds;
  double out = p.seconds;
  const bool apart = !(p.made_from.host_call.launch > 0);  // not beside the GPU, as where engines and NCCL are called from Python
  for (const Term& term : p.terms)
    if (term.name == "module" || (apart && term.name == "launch from Python")) out -= term.time.value();
  return out;
}

std::string explain_launches(const ExplainContext& context) {
  const Prediction& p = context.prediction;
  const double needs = p.made_from.host.seconds(), gpu = gpu_seconds(p);
  if (needs > 0) {
    const double overlap = (context.system != nullptr ? context.system->constants : Constants{}).custom.form.host_overlap;
    return "  d: the host's launches and the GPUs beside each other\n" +
           fmt::format("  time = ({1}^{0:.6g} + {2}^{0:.6g})^(1/{0:.6g}) = {3} us\n", overlap, micro(needs), micro(gpu), micro(p.seconds));
  }
  if (!(gpu < p.seconds)) return "";
  const bool module = p.made_from.choice.launch.mode == LaunchMode::xla;
  const char* const what = module ? "XLA's module around it" : "the call from Python, for which the GPUs wait";
  return fmt::format("  d: {}\n  time = {} + {} = {} us\n", what, micro(gpu), micro(p.seconds - gpu), micro(p.seconds));
}

std::string launch_text(const Prediction& p) {
  const HostTime& host = p.made_from.host;
  const double needs = host.seconds(), gpu = p.made_from.gpu_seconds;
  if (!(needs > 0)) return "";
  std::string how = fmt::format("{} x {:.4g} us", counted(host.gpus, "GPU"), host.per_gpu * 1e6);
  if (host.share < 1) how += fmt::format(" x {:.4g}", host.share);
  if (host.messages > 0) how += fmt::format(", {:.6g} sends and receives of each included", host.messages);
  return fmt::format("Launching takes the host {} us ({}), the GPUs need {} us: the {} hold the call", micro(needs), how, micro(gpu),
                     needs > gpu ? "launches" : "GPUs");
}

}  // namespace detail

std::string explain(const FusedNorm& norm) {
  using detail::micro;
  const auto memory = [&](int times, double seconds) {
    return fmt::format("{} S / {:.4g} GB/s = {}", times, norm.memory_rate / 1e9, micro(seconds));
  };
  TextTable table{"", "", "", ">"};
  table.row({"apart", fmt::format("all-reduce {} + gap {} + rows {} + {}", micro(norm.all_reduce), micro(norm.gap), micro(norm.rows), memory(4, norm.apart_memory)),
             "=", micro(norm.apart)});
  if (norm.fuses)
    table.row({"fused", fmt::format("all-reduce {} + rows {} + {}", micro(norm.all_reduce), micro(norm.rows), memory(3, norm.fused_memory)), "=", micro(norm.fused)});
  std::string out = "Residual and norm after it, us\n" + table.text(2);
  if (!norm.fuses) out += wrapped("  ", "Nothing fuses: the library's kernel runs the all-reduce.");
  return out +
         wrapped("  ",
                 "Apart they read the sum and the residual and write the residual and the result; fused, the sum is still in registers. "
                 "The rate is what kernels reach of the memory's. Nothing here was fitted to fused kernels.");
}

}  // namespace fabricost::core
