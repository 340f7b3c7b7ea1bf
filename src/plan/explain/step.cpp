/// Training steps explained term by term.

#include "explain/sections.hpp"
#include "text/joined.hpp"
#include "text/term_words.hpp"
#include "text/text_table.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/explain/memory.hpp>
#include <fabricost/plan/explain/step.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/idle_gpus.hpp>
#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/plan.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace fabricost::plan {

AnswerTable<ExplainedTerm> ExplainedTerm::fields() {
  using A = ExplainedTerm;
  return {gives(&A::name, "name", "name", "Of a term of the step."), gives(&A::time, "time_s", "seconds", "Its share of the step, s."),
          gives(&A::how, "how", "how", "Sentences: its arithmetic, the ranks and links it runs on."),
          gives(&A::helps, "helps", "helps", "Changes of the machine that shorten it most, the layout being kept; empty: none does.")};
}

namespace {

[[nodiscard]] std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

/// "4 ranks of one nvlink5 domain", "8 ranks in each of 16 domains, over ib-ndr".
[[nodiscard]] std::string where_text(const StepExchange& x, const Fabric& f, int taken) {
  if (x.group == StepGroup::stages)
    return x.at.domains > 1 ? fmt::format("to a GPU of another domain, over {}", f.outer_tier.view())
                            : fmt::format("to a GPU of the same {} domain", f.inner_tier.view());
  if (x.at.domains == 1) return fmt::format("among {} ranks of one {} domain", x.at.local, f.inner_tier.view());
  // ranks that do not divide over the domains taken are priced on more of them, with as many in each
  return fmt::format("among {} ranks, {}{} in each of {} domains, over {}", x.at.ranks(), x.at.domains > taken ? "priced as " : "",
                     x.at.local, x.at.domains, f.outer_tier.view());
}

/// The terms of a step that a group's exchanges are a part of.
[[nodiscard]] std::string_view term_of(StepGroup group) {
  constexpr std::array<std::string_view, step_group_names.size()> terms{"tensor", "context", "expert", "hand_over", "data", "rows", "data"};
  return terms[static_cast<std::size_t>(group)];
}

class StepWords {
 public:
  StepWords(const TrainingQuestion& q, const System& system, const PricedLayout& priced)
      : q_(q),
        system_(system),
        priced_(priced),
        l_(priced.layout),
        t_(priced.time),
        gpu_(Processor::of(system)),
        costs_(system, {.ways = q.ways}) {
    stack_ = q.stack;
    stack_.memory = memory_on(stack_.memory, system.gpu.generation);
    parts_ = parts_of_step(q.model, l_, stack_, gpu_, costs_);
  }

  [[nodiscard]] std::vector<std::string> how(std::string_view term) {
    if (term == "compute") return compute();
    if (term == "layer_floor")
      return {fmt::format(
          "Launches and small kernels below which no layer gets, where its kernels are shorter: {:.3g} us a layer and direction.",
          1e6 * stack_.launches * stack_.scale * gpu_.constants.layer_floor)};
    if (term == "bubble") return {bubble()};
    if (term == "accumulation")
      return {fmt::format(
          "Each microbatch after the first, {:.0f} of them, adds its gradients to those in memory: {:.3g} B of memory traffic a "
          "parameter at {:.3g} TB/s.",
          parts_.microbatches - 1, stack_.accumulation_bytes, 1e-12 * gpu_.memory_rate)};
    if (term == "optimizer") return {optimizer()};
    if (term == "stragglers") return {stragglers()};
    if (term == "offload") return offload();
    if (term == "tables") return {tables()};
    if (term == "frozen_model") return {frozen()};
    if (term == "input") return {"Waiting for data, as given (data_time)."};
    if (term == "evaluation")
      return {fmt::format("Passes over data held out, as given: {} of the training steps' time.", percent(stack_.evaluation))};
    return exchanges(term);
  }

  [[nodiscard]] const StepParts& parts() const { return parts_; }

 private:
  [[nodiscard]] std::vector<std::string> compute() const {
    const StepKernels& k = parts_.kernels;
    const double at_peak = rates_of(system_, q_, priced_).causal_mfu * t_.seconds * q_.gpus / l_.gpus();  // of those that work
    std::vector<std::string> out{
        fmt::format("{:.0f} microbatches through {} layers of the fullest stage. At the peak of {:.4g} TFLOP/s the step's products and "
                    "causal scores would take {:.4g} s.",
                    parts_.microbatches, parts_.layers, 1e-12 * gpu_.peak(q_.precision), at_peak)};
    std::vector<std::string> kinds;
    for (const auto& [words, seconds] :
         {std::pair{"matrix products", k.products}, std::pair{"attention scores", k.attention}, std::pair{"scans of state layers", k.scan},
          std::pair{"element-wise kernels", k.element}, std::pair{"recomputation", k.repeated}, std::pair{"output matrix and loss", k.head},
          std::pair{"adapters", k.adapters}, std::pair{"encoder of images", k.vision}})
      if (seconds > 0) kinds.push_back(fmt::format("{} {:.4g} s", words, seconds));
    out.push_back(fmt::format("By kind: {}.", joined(kinds)));
    if (const std::string factor = factor_text(stack_); !factor.empty()) out.push_back(factor);
    return out;
  }

  [[nodiscard]] std::vector<std::string> offload() const {
    const double link = 1e-9 * host_rate(system_);
    std::vector<std::string> out;
    if (l_.offload_layers > 0)
      out.push_back(
          fmt::format("Activations of {} layers of a stage go to host memory and back at {:.4g} GB/s each way: what their "
                      "layers' kernels do not hide.",
                      l_.offload_layers, link));
    if (l_.offload_optimizer > 0)
      out.push_back(
          fmt::format("{} of the states are updated in host memory: {:.3g} B of its traffic a parameter at {:.4g} GB/s, or {:.3g} B "
                      "of gradients out and weights back at {:.4g} GB/s if that takes longer.",
                      percent(l_.offload_optimizer), prior::memory::host_update, 1e-9 * host_memory_rate(system_),
                      stack_.memory.gradient + stack_.memory.gathered_weight, link));
    return out;
  }

  [[nodiscard]] std::string tables() const {
    const Recommender& r = q_.model.recommender;
    const double rows = double(l_.global_batch) / l_.dp * r.lookups;
    return fmt::format(
        "{:.4g} rows of {} values are read from the tables of a rank for a step, and read and written with {:.3g} B of states a value in "
        "its backward; their sums by table are written, and gradients of those read.",
        rows, r.width, r.state_bytes);
  }

  [[nodiscard]] std::string frozen() const {
    return fmt::format("Forward passes of {} in {:.0f} microbatches{}{}.", q_.model.frozen->name, parts_.microbatches,
                       l_.pp > 1 ? fmt::format(", and the fill of {} stages", l_.pp) : "",
                       l_.zero == 3 ? ", with the gathers of its weights" : "");
  }

  [[nodiscard]] std::string optimizer() const {
    const double bytes = update_bytes(stack_.memory), seconds = update_seconds(gpu_, stack_, 1);
    const std::string kernel = stack_.update_cycles > 0 && gpu_.cycles > 0
                                   ? fmt::format(", with {:.3g} cycles of a processor a parameter beside them", stack_.update_cycles)
                                   : "";
    return fmt::format(
        "{:.3g} B of memory traffic a parameter that the rank updates, once a step: gradient, weight and states are read, "
        "weight and states written, at {:.3g} TB/s{}: {:.3g} ps a parameter, {:.3g} TB/s. No stack's factor makes it faster.",
        bytes, 1e-12 * gpu_.constants.memory * gpu_.memory_rate, kernel, 1e12 * seconds, 1e-12 * bytes / seconds);
  }

  [[nodiscard]] std::string bubble() const {
    const double m = parts_.microbatches, chunks = l_.vp;
    const double least = (l_.pp - 1) / (chunks * m);
    std::string out = fmt::format(
        "{} stages fill and drain around {:.0f} microbatches ({}{}): (p - 1) / (v m) = {} of the stages' work with equal stages; what is "
        "above it waits for the slowest stage.",
        l_.pp, m, name(schedule_of(l_)), chunks > 1 ? fmt::format(", {} chunks a stage", l_.vp) : "", percent(least));
    if (!l_.split.given()) return out;
    const auto layers = [&](int stage) { return stage_content(q_.model, l_, stage).layers; };
    return out + fmt::format(" The first has {} layers, the last {}{}.", layers(0), layers(l_.pp - 1),
                             l_.pp > 2 ? fmt::format(", those between {}", layers(1)) : "");
  }

  [[nodiscard]] std::string stragglers() const {
    const int nodes = domains_taken(l_, system_.domain);
    return fmt::format("All ranks wait for the slowest of {} domains: {} x (2 ln {})^(1/2) of the step.", nodes,
                       percent(gpu_.constants.straggle), nodes);
  }

  [[nodiscard]] std::vector<std::string> exchanges(std::string_view term) {
    std::vector<std::string> out;
    double all = 0;
    for (const StepExchange& x : parts_.exchanges) {
      if (term_of(x.group) != term || x.count <= 0) continue;
      all += x.total();
      out.push_back(one(x));
    }
    const double seen = term == "hand_over" ? t_.pipeline
                        : term == "tensor"  ? t_.tensor
                        : term == "context" ? t_.context
                        : term == "expert"  ? t_.expert
                        : term == "rows"    ? t_.rows
                                            : t_.data;
    const double share = all > 0 ? std::min(1.0, seen / all) : 0;
    if (seen > 1.001 * all)
      out.push_back(fmt::format("Together {:.4g} s, which nothing hides; the rest of the term waits for them at the ends of the step.", all));
    else if (share > 0.999) out.push_back(fmt::format("Together {:.4g} s, which nothing hides.", all));
    if (all > 0 && share <= 0.999)
      out.push_back(fmt::format("Together {:.4g} s, of which {} is in the step; other work hides the rest.", all, percent(share)));
    return out;
  }

  [[nodiscard]] std::string one(const StepExchange& x) {
    const Path path = x.group == StepGroup::stages && x.at.domains > 1 ? Path::nic : Path::gpu_gpu;
    const Curve& curve = costs_.curve(x.collective, x.at, path);
    const std::string bytes = size_text(Bytes::from_value(std::round(x.bytes)));
    const bool experts = x.group == StepGroup::expert;  // by a kernel of its own
    const std::string by = experts ? "" : pair_text(curve.ran_at(x.bytes)) + ", ";
    const double busbw = x.bytes / x.seconds * bus_factor(x.collective, x.at.ranks());
    const bool ring = x.group == StepGroup::context && l_.context == ContextParallel::ring;
    return fmt::format("{:.6g} x {} of {} {}: {:.4g} ms each ({}{:.4g} GB/s busbw).", x.count,
                       experts ? "dispatch or combine"
                       : ring  ? "pass around the ring (p2p, priced as all_gather)"
                               : name(x.collective),
                       bytes,
                       where_text(x, curve.fabric(), domains_taken(l_, system_.domain)), 1e3 * x.seconds, by, 1e-9 * busbw);
  }

  const TrainingQuestion& q_;
  const System& system_;
  const PricedLayout& priced_;
  const Layout& l_;
  const StepTime& t_;
  Processor gpu_;
  GroupCosts costs_;
  Stack stack_;
  StepParts parts_;
};

/// By how much each term moves with each change of the machine, the layout being kept.
struct Move {
  std::string change;
  std::vector<StepTerm> terms;
};
[[nodiscard]] std::vector<Move> moves_of(const TrainingQuestion& q, const System& system, const Layout& layout) {
  std::vector<Move> out;
  for_each_change(system, [&](const std::string& change, const System& other) {
    Stack stack = q.stack;
    stack.memory = memory_on(stack.memory, other.gpu.generation);
    GroupCosts costs(other, {.ways = q.ways});
    out.push_back({change, terms_of(step_time(q.model, layout, stack, Processor::of(other), costs))});
  });
  return out;
}

[[nodiscard]] std::string helps_text(const StepTerm& term, const std::vector<Move>& moves) {
  constexpr std::size_t most = 3;
  std::vector<std::pair<double, std::string>> found;
  for (const Move& move : moves)
    for (const StepTerm& now : move.terms)
      if (now.name == term.name && term.seconds() > 0 && now.seconds() / term.seconds() - 1 < -0.005)
        found.emplace_back(now.seconds() / term.seconds() - 1, move.change);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i)
    out.push_back(fmt::format("{}: {:+.1f} %", found[i].second, 100 * found[i].first));
  return joined(out);
}

/// "tp 8 pp 16 cp 1 dp 8"
[[nodiscard]] std::string ranks_text(const Layout& l, bool mixture) {
  return fmt::format("tp {} pp {}{} cp {}{} dp {} zero {} microbatch {}, {}", l.tp, l.pp, l.vp > 1 ? fmt::format(" vp {}", l.vp) : "", l.cp,
                     mixture ? fmt::format(" ep {}", l.ep) : "", l.dp, l.zero, l.microbatch, recompute_text(l));
}

[[nodiscard]] std::string against_text(const TrainingQuestion& q, const PricedLayout& priced, const PricedLayout& usual) {
  const std::string layout = ranks_text(usual.layout, q.model.mixture());
  const double longer = usual.time.seconds / priced.time.seconds - 1;
  std::string out = fmt::format("The usual rule ({}) gives {}: {:.4g} s, ",
                                q.model.mixture() ? "experts over the NVLink domain, no tensor ranks, the fewest stages that fit"
                                                  : "tensor ranks inside a node until it fits, then the fewest stages",
                                layout, usual.time.seconds);
  if (std::fabs(longer) < 0.005) return out + "as fast as this one.";
  out += fmt::format("{} {}.", percent(std::fabs(longer)),
                     longer > 0 ? "longer" : "shorter; this layout was named, or has limits that the rule has not");
  const std::vector<StepTerm> here = terms_of(priced.time), there = terms_of(usual.time);
  std::vector<std::pair<double, std::string>> apart;
  for (const StepTerm& a : there) {
    double b = 0;
    for (const StepTerm& one : here)
      if (one.name == a.name) b = one.seconds();
    apart.emplace_back(a.seconds() - b, a.name);
  }
  std::stable_sort(apart.begin(), apart.end(), [](const auto& a, const auto& b) { return std::fabs(a.first) > std::fabs(b.first); });
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, apart.size()); ++i)
    if (std::fabs(apart[i].first) > 0.002 * priced.time.seconds)
      words.push_back(fmt::format("{} {:+.3g} s", term_words(apart[i].second), apart[i].first));
  return words.empty() ? out : out + fmt::format(" Difference: {}.", joined(words));
}

[[nodiscard]] std::string interval_text(const TrainingQuestion& q, const System& system, const PricedLayout& priced) {
  const TrainingFigures f = figures_of(system, q, priced);
  std::vector<std::string_view> seen;
  for (const StepsSeen::On& on : q.stack.seen.on) seen.push_back(name(on.generation));
  const std::string fitted =
      q.stack.scale_given ? "has the factor of a step of your own"
      : seen.empty() ? "rests on no published steps of its own (docs/training.md, Software stacks, says which do; measured_step "
                     "corrects it by one of your own)"
                   : fmt::format("was fitted on {}{}", joined(seen),
                                 !q.stack.seen.of(system.gpu.generation) ? fmt::format(", not on {}", name(system.gpu.generation))
                                 : system.constants.compute_related      ? fmt::format(", though not on {}", system.gpu.name)
                                                                         : "") +
                         (q.model.mixture() && !q.stack.seen.experts ? ", on no model with experts" : "");
  return fmt::format(
      "Nine steps in ten should take {:.4g} to {:.4g} s: stack {} {}; the standard deviation is {} in all, with that of its exchanges{}.",
      f.low, f.high, q.stack.name, fitted, percent(std::log(f.high / priced.time.seconds) / nine_in_ten),
      kernels_assumed(system) ? ", with kernel efficiencies of this generation assumed" : "");
}

}  // namespace

ExplainedStep explain_step(const System& system, const TrainingQuestion& question, const PricedLayout& priced) {
  StepWords words(question, system, priced);
  const std::vector<Move> moves = moves_of(question, system, priced.layout);
  ExplainedStep out;
  out.seconds = priced.time.seconds;
  for (const StepTerm& term : terms_of(priced.time))
    if (std::fabs(term.seconds()) > 0) out.terms.push_back({term, words.how(term.name), helps_text(term, moves)});
  std::stable_sort(out.terms.begin(), out.terms.end(), [](const ExplainedTerm& a, const ExplainedTerm& b) { return a.time > b.time; });
  out.against_usual = against_usual(system, question, priced, out.usual);
  out.interval = interval_text(question, system, priced);
  return out;
}

std::string against_usual(const System& system, const TrainingQuestion& question, const PricedLayout& priced,
                          std::optional<PricedLayout>& usual) {
  usual = usual_layout(system, names_one_layout(question) ? with_open_layout(question) : question);
  return usual ? against_text(question, priced, *usual) : "The usual rule finds no layout that fits.";
}

std::string factor_text(const Stack& stack) {
  if (stack.scale == 1) return {};
  return fmt::format(
      "Times of kernels and launches contain the factor {:.4g} {} (no kernel beats the GPU's peak); exchanges cost what predict "
      "says.",
      stack.scale, stack.scale_given ? "given" : "of stack " + stack.name);
}

std::string explain(const ExplainedStep& step) {
  std::string out;
  for (const ExplainedTerm& term : step.terms) {
    out += fmt::format("  {} {:.4g} s, {:.1f} %\n", term_words(term.name), term.time.value(), 100 * term.time.value() / step.seconds);
    for (const std::string& sentence : term.how) out += wrapped("    ", sentence);
    if (!term.helps.empty()) out += wrapped("    ", "It moves with " + term.helps + ".");
  }
  return out + "\n" + wrapped("  ", step.against_usual) + wrapped("  ", step.interval);
}

}  // namespace fabricost::plan
