/// When no layout fits or meets the limits: the nearest one, and helpful changes.

#include "text/amounts.hpp"
#include "text/joined.hpp"

#include <fabricost/explain/assumptions.hpp>
#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/plan/explain/nearest_plan.hpp>
#include <fabricost/plan/memory/advice.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

namespace fabricost::plan {
namespace {

/// "2 x l40s"
[[nodiscard]] std::string gpus_text(int count, std::string_view gpu) { return fmt::format("{} x {}", count, gpu); }

constexpr int max_gpus = 4096;  ///< maximum a remedy proposes

[[nodiscard]] bool is_served(const ServingQuestion& question, const System& system) {
  ServingQuestion q = question;
  q.ttft = q.tpot = 0;
  return !plan_serving(system, q).layouts.empty();
}

/// Narrower weights, else more GPUs of the same kind. \param of_pool it is prefill workers of another kind that do not fit
[[nodiscard]] std::string remedy(const ServingQuestion& q, const System& system, bool of_pool) {
  std::string out;
  for (const WeightFormat f : {WeightFormat::fp8, WeightFormat::fp4}) {
    if (weight_bytes(f) >= weight_bytes(q.format.weights)) continue;
    ServingQuestion narrower = q;
    narrower.format = {f, std::min(1.0, q.format.kv_width)};
    if (!is_served(narrower, system)) continue;
    out = fmt::format("<precision={}> fits", name(f));
    break;
  }
  const int now = of_pool ? q.pool->gpus : q.gpus;
  for (int gpus = 2 * now; gpus <= max_gpus && gpus <= 1024 * now; gpus *= 2) {
    ServingQuestion larger = q;
    (of_pool ? larger.pool->gpus : larger.gpus) = gpus;
    try {
      if (!is_served(larger, system)) continue;
    } catch (const RequestError&) {
      continue;
    }
    out += fmt::format("{}{}{} GPUs fit", out.empty() ? "" : "; ", gpus, of_pool ? " prefill" : "");
    break;
  }
  return out;
}

/// What brings the nearest deployment nearer. Where one request at a time is too slow already, more engines of the same kind are not.
[[nodiscard]] std::string what_helps(const ServingQuestion& q, const System& system, const PricedServing& p, bool late, bool slow) {
  if (p.batch > p.engine.attention_dp) return "fewer requests at once, shorter prompts or more GPUs";
  std::vector<std::string> out;
  if (late) out.emplace_back("shorter prompts");
  if (weight_bytes(q.format.weights) > weight_bytes(WeightFormat::fp4)) out.emplace_back("narrower weights (<precision>)");
  if (slow && q.stack.drafts == 0) out.emplace_back("drafts (<draft_tokens>)");
  if (p.used() * 2 > q.gpus && p.engine.ranks() < system.domain) out.emplace_back("a larger engine of more GPUs");
  return (out.empty() ? "" : joined(out) + " or ") + "a faster machine";
}

[[nodiscard]] std::string limits_missed(const ServingQuestion& q, const System& system, const PricedServing& p) {
  std::string limits;
  if (q.ttft > 0) limits += fmt::format(" TTFT {}", short_time_text(q.ttft));
  if (q.tpot > 0) limits += fmt::format(" TPOT {}", short_time_text(q.tpot));
  const bool late = q.ttft > 0 && p.time.ttft > q.ttft, slow = q.tpot > 0 && p.time.tpot > q.tpot;
  std::vector<std::string> ask;
  if (late || !slow) ask.push_back(fmt::format("<ttft_seconds={:.4g}>", 1.01 * p.time.ttft));
  if (slow || !late) ask.push_back(fmt::format("<tpot_seconds={:.4g}>", 1.01 * p.time.tpot));
  return fmt::format("{} on {} {} GPUs: no layout meets{}; the nearest ({} x {}{}, batch {:.0f}) has TTFT {}, TPOT {}: ask for {}, or take {}",
                     q.model.name, q.gpus, system.name, limits, p.replicas, engine_text(p.engine),
                     p.apart ? fmt::format(" behind {} x {}", p.prefill_workers, engine_text(p.prefill)) : "", p.batch,
                     short_time_text(p.time.ttft), short_time_text(p.time.tpot), joined(ask, " and "), what_helps(q, system, p, late, slow));
}

/// The cheapest change of a layout that fits and that the machine can run.
[[nodiscard]] MemoryAdvice advice_for(const TrainingQuestion& q, const System& system, const Layout& layout) {
  const Processor gpu = Processor::of(system);
  GroupCosts costs(system, {.ways = q.ways});
  const std::optional<long long> stated = stated_gpus(system);
  const auto runs = [&](const Layout& l) {
    if (stated && l.gpus() + static_cast<long long>(idle_gpus(l, system.domain)) > *stated) return false;
    try {
      return step_time(q.model, l, q.stack, gpu, costs).seconds > 0;
    } catch (const RequestError&) {  // the machine cannot join its ranks
      return false;
    }
  };
  return smallest_change_that_fits(q.model, layout, memory_stack(system, q, layout), gpu.memory, headroom_of(q), system.domain,
                                   stated_host_room(system), runs);
}

/// The fastest layout of a request with one of its numbers changed.
struct Changed {
  TrainingQuestion question;
  PricedLayout best;
  [[nodiscard]] double tokens() const { return double(best.layout.global_batch) * question.sequence / best.time.seconds; }
  [[nodiscard]] double tokens_per_gpu() const { return tokens() / question.gpus; }
  [[nodiscard]] std::string layout() const {
    const Layout& l = best.layout;
    return fmt::format("tp {} pp {} cp {} dp {}", l.tp, l.pp, l.cp, l.dp);
  }
};

/// None where the request cannot be met.
[[nodiscard]] std::optional<Changed> fastest(TrainingQuestion q, const System& system) {
  q.top = 1;
  try {
    const TrainingPlan plan = plan_training(system, q);
    if (plan.fits && !plan.layouts.empty()) return Changed{q, plan.layouts.front()};
  } catch (const RequestError&) {  // no layout divides these numbers
  }
  return std::nullopt;
}

/// Formats of the frozen weights beside adapters that fit where no layout does; empty where none does.
[[nodiscard]] std::string narrower_weights_text(const TrainingQuestion& q, const System& system) {
  if (!q.adapters.on() || q.adapters.in_4_bit || q.precision == Precision::fp8 || q.precision == Precision::fp4) return {};
  std::vector<std::string> ways;
  const auto take = [&](const char* option, const TrainingQuestion& other) {
    if (const auto found = fastest(other, system))
      ways.push_back(fmt::format("{} ({} a step, {:.1f} GiB)", option, short_time_text(found->best.time.seconds),
                                 found->best.memory.total() / gibibyte));
  };
  TrainingQuestion other = q;
  other.adapters.in_4_bit = true;
  take("<load_in_4bit>", other);
  other.adapters.in_4_bit = false;
  other.precision = Precision::fp8;
  if (system.gpu.fp8.value.value() > 0) take("<precision=fp8>", other);
  return joined(ways, " or ");
}

/// The advice in words, after `subject`. Where no layout fits without host memory, what 16-bit moments and gradients would do is said, too:
/// they change what is trained, so that no search takes them by itself.
[[nodiscard]] std::string advice_text(const TrainingQuestion& q, const System& system, const Layout& layout, const char* subject) {
  const MemoryAdvice advice = advice_for(q, system, layout);
  if (const std::string narrower = advice.found ? "" : narrower_weights_text(q, system); !narrower.empty())
    return fmt::format("no other layout on {} fits; {} fits with {}", counted(q.gpus, "GPU"), subject, narrower);
  std::string text = advice.found ? fmt::format("{} {}", subject, advice.sentence) : advice.sentence;
  const bool on_gpu = advice.layout.offload_optimizer == layout.offload_optimizer && advice.layout.offload_layers == layout.offload_layers;
  constexpr double wide = 8, narrow = 4, gradient = 2;  // bytes a parameter: two moments; a gradient in 16 bit
  if ((advice.found && on_gpu) || q.stack.memory.optimizer < wide || q.adapters.on()) return text;
  TrainingQuestion other = q;
  other.stack.memory.optimizer += narrow - wide;
  other.stack.memory.gradient = std::min(other.stack.memory.gradient, gradient);
  const MemoryAdvice narrower = advice_for(other, system, layout);
  if (!narrower.found) return text;
  return fmt::format(
      "{}. With moments and gradients in 16 bit (<exp_avg_dtype=bf16> <exp_avg_sq_dtype=bf16> <grad_reduce_in_fp32=no>) it {}", text,
      narrower.sentence);
}

/// ", and 1200.0 of 240.0 GiB of its share of host memory" where that is too much.
[[nodiscard]] std::string host_text(const MemoryUse& use, const System& system) {
  const double room = stated_host_room(system);
  if (!(room > 0 && use.host > room)) return {};
  return fmt::format(", and in host memory {:.1f} of {:.1f} GiB", use.host / gibibyte, room / gibibyte);
}

}  // namespace

std::string engine_text(const EngineLayout& l) {
  std::string out = fmt::format("tp {} pp {}", l.tp, l.pp);
  if (l.ep > 1 || l.attention_dp > 1) out += fmt::format(" ep {}", l.ep);  // without, every rank of dp holds a part of all experts
  if (l.attention_dp > 1) out += fmt::format(" dp {}", l.attention_dp);
  return out;
}

std::string nothing_fits(const System& system, const TrainingQuestion& q, const PricedLayout& nearest) {
  const double capacity = Processor::of(system).memory;
  const Layout& l = nearest.layout;
  const double headroom = headroom_of(q);
  return fmt::format(
      "{} does not fit {} of {:.1f} GiB{} in any of these layouts; the nearest (tp {} pp {} cp {} dp {} zero {} microbatch {} "
      "recompute {}) needs {:.1f} GiB{}; {}",
      q.model.name, gpus_text(q.gpus, system.gpu.name), capacity / gibibyte,
      headroom > 0 ? fmt::format(" less {:.3g} %", 100 * headroom) : "", l.tp, l.pp, l.cp, l.dp, l.zero, l.microbatch,
      recompute_names[static_cast<std::size_t>(l.recompute)], nearest.memory.total() / gibibyte, host_text(nearest.memory, system),
      advice_text(q, system, l, "it"));
}

std::string does_not_fit(const System& system, const TrainingQuestion& q, const PricedLayout& named) {
  const double capacity = Processor::of(system).memory;
  return fmt::format("does not fit: {:.1f} GiB a GPU of {:.1f}{}, recompute {}; {}", named.memory.total() / gibibyte,
                     capacity * (1 - headroom_of(q)) / gibibyte, host_text(named.memory, system),
                     recompute_names[static_cast<std::size_t>(named.layout.recompute)], advice_text(q, system, named.layout, "it"));
}

namespace {

/// Batches near the requested one: those that divide the GPUs, so that replicas may take the place of stages, and multiples of it.
[[nodiscard]] std::set<int> other_batches(const TrainingQuestion& q) {
  std::set<int> out{2 * q.global_batch, 4 * q.global_batch};
  for (int batch = std::max(1, q.global_batch / 2); batch <= 4 * q.global_batch; ++batch)
    if (q.gpus % batch == 0) out.insert(batch);
  out.erase(q.global_batch);
  return out;
}

}  // namespace

std::string mostly_waits(const System& system, const TrainingQuestion& q, const PricedLayout& best) {
  const StepTime& t = best.time;
  if (2 * t.bubble <= t.seconds) return "";
  const Changed now{q, best};
  std::vector<std::string> ways;
  TrainingQuestion free = with_open_layout(q);
  free.batch_within = 0;
  if (const auto any = fastest(free, system); any && any->best.time.seconds < t.seconds)
    ways.push_back(fmt::format("another layout ({}) trains {:.4g} tokens a second and GPU", any->layout(), any->tokens_per_gpu()));
  std::optional<Changed> batch;
  for (const int one : other_batches(q)) {
    free.global_batch = one;
    const auto found = fastest(free, system);
    if (found && found->tokens_per_gpu() > (batch ? *batch : now).tokens_per_gpu()) batch = found;
  }
  if (batch)
    ways.push_back(
        fmt::format("{} sequences a step ({}) train {:.4g}", batch->question.global_batch, batch->layout(), batch->tokens_per_gpu()));
  free.global_batch = q.global_batch;
  free.gpus = static_cast<int>(std::bit_floor(static_cast<unsigned>(q.gpus)));
  if (const auto fewer = free.gpus < q.gpus ? fastest(free, system) : std::nullopt; fewer && fewer->tokens() > now.tokens())
    ways.push_back(fmt::format("{} GPUs ({}) train {:.4g}, and more in all", free.gpus, fewer->layout(), fewer->tokens_per_gpu()));
  return fmt::format(
      "{:.0f} % of the step waits for {} pipeline stages to fill and drain around {} microbatches, at {:.4g} tokens a second "
      "and GPU: {}",
      100 * t.bubble / t.seconds, best.layout.pp, best.layout.microbatches(), now.tokens_per_gpu(),
      ways.empty() ? "more sequences a step, or fewer GPUs, would wait less" : joined(ways, "; "));
}

std::string with_activations_on_host(const System& system, const TrainingQuestion& q, const PricedLayout& best) {
  const bool saves = best.layout.recompute != Recompute::none || best.layout.offload_optimizer > 0;
  const bool runs = q.stack.runs.divides_any && !q.stack.offloads_inputs && !q.cuda_graphs && q.pp.value_or(1) == 1;
  const bool open = !q.recompute && !q.recompute_layers && !q.offload_layers && !names_one_layout(q);
  if (!saves || !runs || !open || !(stated_host_room(system) > 0)) return {};
  constexpr int parts = 8;  // of the layers
  TrainingQuestion other = q;
  std::optional<Changed> fastest_so;
  for (int part = 1; part <= parts; ++part) {
    other.offload_layers = std::clamp(q.model.layers * part / parts, 1, std::max(1, q.model.layers - 1));
    const auto found = fastest(other, system);
    if (found && found->tokens() > (fastest_so ? fastest_so->tokens() : (1 + plainer_within) * Changed{q, best}.tokens()))
      fastest_so = found;
  }
  if (!fastest_so) return {};
  return fmt::format("Not searched are activations in host memory, with which no published step is known to have run: with "
                     "<cpu_offloading_num_layers={}> a step takes {:.4g} s",
                     fastest_so->best.layout.offload_layers, fastest_so->best.time.seconds);
}

std::string nothing_found(const System& system, const ServingQuestion& q, const ServingPlan& plan) {
  if (plan.nearest) return limits_missed(q, system, *plan.nearest);
  if (!plan.nearest_fit)
    return "no two layouts of workers fit beside each other on these GPUs; take more GPUs, or leave <disaggregated> out";
  const System& machine = plan.of_pool ? *q.pool->system : system;
  const Gpu& gpu = machine.gpu;
  const double memory = gpu.memory.value.value(), capacity = (plan.of_pool ? q.pool->stack : q.stack).memory_share * memory;
  std::string helps = remedy(q, system, plan.of_pool);
  if (machine.tier(TierRole::nic) == nullptr && (plan.of_pool ? q.pool->gpus : q.gpus) > machine.domain)
    helps += fmt::format("{}{} has no NICs, so that an engine stays within a domain of {} GPUs", helps.empty() ? "" : "; ", machine.name, machine.domain);
  return fmt::format("{} in {} does not fit {} of {:.1f} GiB: the nearest layout ({}) needs {:.1f} GiB, and the stack fills {:.1f} GiB, {:.0f} %{}{}",
                     q.model.name, name(q.format.weights), gpus_text(plan.of_pool ? q.pool->gpus : q.gpus, gpu.name), memory / gibibyte,
                     engine_text(*plan.nearest_fit), (capacity + plan.lacking) / gibibyte, capacity / gibibyte, 100 * capacity / memory,
                     helps.empty() ? "" : "; ", helps);
}

}  // namespace fabricost::plan
