/// The job of the traces on another machine.

#include "answers/trace/step.hpp"
#include "trace/replay.hpp"

#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/hardware/host_rate.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/kernels/compute.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::observe::detail {

namespace {

/// The place in its interval at which every kernel and call is taken.
enum class End : unsigned char { fast, middle, slow };

class Exchange {
 public:
  /// \param here the machine of the traces; nullptr: not known, which only the same machine does without
  /// \param there nullptr: the same machine
  Exchange(const timeline::Job& job, TraceMachine* here, TraceMachine* there);

  /// \param less slow: a call beyond its prediction's interval takes what is predicted
  [[nodiscard]] timeline::Elsewhere at(End end, timeline::Without less = timeline::Without::nothing);
  /// The assumptions made, a sentence each.
  [[nodiscard]] std::vector<std::string> assumed() const;

 private:
  /// Time there over time here of one kind of kernel.
  struct Ratio {
    double low = 1, middle = 1, high = 1;
    [[nodiscard]] double at(End end) const { return end == End::fast ? low : end == End::slow ? high : middle; }
  };
  [[nodiscard]] double kernel(Work work, double ns, End end) const;
  [[nodiscard]] timeline::Carried call(const timeline::Call& call, End end, timeline::Without less);
  [[nodiscard]] Ratio by_links(const timeline::Call& call) const;
  void compare(const System& here, const System& there);

  const timeline::Job& job_;
  TraceMachine *here_, *there_;
  std::array<Ratio, work_names.size()> ratios_{};
  double start_here_ = 0, start_there_ = 0;  ///< ns before a product begins
  Ratio all_;                                ///< of all the job's kernels
  double untold_ = 0, computed_ = 0;         ///< ns of kernels whose names tell nothing, and of all
  bool other_generation_ = false;
  std::size_t calls_ = 0, by_links_ = 0, outside_ = 0;
};

// Converts one machine's times to another's:
//
//   products       start there + (t - start here) x rate here / rate there, the rates that large products reach (kernels/compute.hpp)
//   attention      t x (seconds there / here of 16 heads of 128 over 8,192 tokens)
//   memory         t x rate that element-wise kernels reach of the memory here / there; copies: t x rate of the host link here / there
//   other kernels  between the ratios of products and of memory, both ends included
//   calls          t x prediction there / prediction here: a call slower than predicted here is so there, too. If not all ranks of a call
//                  are traced, time beyond the prediction is waiting for others, and changes as the kernels do
//   without size   t x rate of the links here / there at best, t at worst
//
// The ends of the interval: other generations of GPUs miss by the spread of steps of an unseen stack; calls by their predictions'
// intervals; all of them at their fast, or at their slow ends. A time predicted to stay the same keeps its measured value.

constexpr double nanosecond = 1e9;

[[nodiscard]] double copy_rate(const System& system) {
  try {
    return host_rate(system);
  } catch (const RequestError&) {
    return 0;
  }
}

Exchange::Exchange(const timeline::Job& job, TraceMachine* here, TraceMachine* there) : job_(job), here_(here), there_(there) {
  if (there_ != nullptr && here_ != nullptr) compare(*here_->system(), *there_->system());
  Ratio sum{0, 0, 0};
  for (const RankTrace& rank : job.ranks)
    for (const TracedKernel& one : rank.kernels) {
      const auto ns = static_cast<double>(one.span.length());
      computed_ += ns;
      if (one.work == Work::unknown) untold_ += ns;
      sum.low += kernel(one.work, ns, End::fast);
      sum.middle += kernel(one.work, ns, End::middle);
      sum.high += kernel(one.work, ns, End::slow);
    }
  if (computed_ > 0) all_ = {sum.low / computed_, sum.middle / computed_, sum.high / computed_};
}

void Exchange::compare(const System& here, const System& there) {
  const Processor a = Processor::of(here), b = Processor::of(there);
  other_generation_ = here.gpu.generation != there.gpu.generation;
  double spread = other_generation_ ? prior::stack::spread : 0;
  for (const System* one : {&here, &there})
    if (other_generation_ && kernels_assumed(*one)) spread = std::hypot(spread, assumed_kernels_spread);
  const auto set = [&](Work work, double ratio) {
    const auto [low, high] = interval_around(ratio, spread);
    ratios_[static_cast<std::size_t>(work)] = {low, ratio, high};
  };
  const double products = product_rate(a, Precision::bf16) / product_rate(b, Precision::bf16);
  const double memory = element_seconds(b, 1) / element_seconds(a, 1);
  set(Work::product, products);
  set(Work::product_8, product_rate(a, Precision::fp8) / product_rate(b, Precision::fp8));
  const auto attention = [](const Processor& gpu, AttentionKernel kernel) {
    constexpr double tokens = 8192, heads = 16, width = 128;
    Stack stack;
    stack.attention = kernel;
    return attention_seconds(gpu, stack, {.queries = heads * tokens, .keys = tokens, .head = {width, width}}, Precision::bf16);
  };
  set(Work::attention, attention(b, AttentionKernel::cudnn) / attention(a, AttentionKernel::cudnn));
  set(Work::attention_old, attention(b, AttentionKernel::flash2) / attention(a, AttentionKernel::flash2));
  set(Work::memory, memory);
  const double host_a = copy_rate(here), host_b = copy_rate(there);
  set(Work::host_copy, host_a > 0 && host_b > 0 ? host_a / host_b : 1);
  set(Work::unknown, std::sqrt(products * memory));
  Ratio& untold = ratios_[static_cast<std::size_t>(Work::unknown)];
  const auto [low, high] = std::minmax(products, memory);
  untold.low = interval_around(low, spread).first;
  untold.high = interval_around(high, spread).second;
  start_here_ = nanosecond * a.constants.gemm_start;
  start_there_ = nanosecond * b.constants.gemm_start;
}

double Exchange::kernel(Work work, double ns, End end) const {
  const double ratio = ratios_[static_cast<std::size_t>(work)].at(end);
  if (work != Work::product && work != Work::product_8) return ns * ratio;
  if (ns <= start_here_) return start_here_ > 0 ? ns * start_there_ / start_here_ : ns * ratio;
  return start_there_ + (ns - start_here_) * ratio;
}

Exchange::Ratio Exchange::by_links(const timeline::Call& call) const {
  const timeline::Group& group = job_.groups[call.group];
  if (here_ == nullptr || there_ == nullptr || here_->system() == nullptr) return {};
  const auto rate = [&](const TraceMachine& machine) {
    const System& system = *machine.system();
    const bool across = machine.tiers_of(group).size() > 1;
    const Tier* tier = system.tier(across ? TierRole::nic : TierRole::scale_up);
    if (tier == nullptr) return 0.0;
    return tier->bandwidth.value.value() * (across ? static_cast<double>(tier->endpoints) / system.gpus_per_node : 1);
  };
  const double here = rate(*here_), there = rate(*there_);
  if (!(here > 0 && there > 0)) return {};
  const double ratio = here / there;
  return {std::min(1.0, ratio), std::sqrt(ratio), std::max(1.0, ratio)};
}

timeline::Carried Exchange::call(const timeline::Call& call, End end, timeline::Without less) {
  const auto ns = static_cast<double>(std::max<std::int64_t>(0, call.wire()));
  const timeline::Group& group = job_.groups[call.group];
  const auto expected = [&](TraceMachine* machine) { return machine == nullptr ? std::nullopt : machine->expect(group, call); };
  std::optional<Expected> here;
  if (here_ != nullptr && here_->system() != nullptr) here = expected(here_);
  const bool too_slow = less == timeline::Without::slow && call.whole && here && ns > nanosecond * here->high;
  const double moving = (call.whole && !too_slow) || !here ? ns : std::min(ns, nanosecond * here->seconds);
  const double outside = too_slow ? 0 : ns - moving;
  if (end == End::middle) {
    ++calls_;
    outside_ += outside > 0 ? 1 : 0;
  }
  if (there_ == nullptr) return {moving, outside};
  const std::optional<Expected> there = expected(there_);
  if (!there || !here || !(here->seconds > 0)) {
    if (end == End::middle) ++by_links_;
    return {moving * by_links(call).at(end), outside * all_.at(end)};
  }
  if (here->seconds == there->seconds) return {moving, outside * all_.at(end)};
  const double seconds = end == End::fast ? there->low : end == End::slow ? there->high : there->seconds;
  return {moving * seconds / here->seconds, outside * all_.at(end)};
}

timeline::Elsewhere Exchange::at(End end, timeline::Without less) {
  if (end == End::middle) calls_ = by_links_ = outside_ = 0;
  return {.kernel = [this, end](Work work, double ns) { return kernel(work, ns, end); },
          .call = [this, end, less](const timeline::Call& one) { return call(one, end, less); }};
}

std::vector<std::string> Exchange::assumed() const {
  std::vector<std::string> out;
  if (there_ != nullptr) {
    out.emplace_back(
        "Kernels take as long as those of the same kind do there: products, attention, and what is bound by memory, by their names; their "
        "shapes stay.");
    if (untold_ > 0)
      out.push_back(fmt::format("The names of {:.0f} % of the kernels' time do not tell what bounds them: they lie between products and "
                                "memory.",
                                100 * untold_ / computed_));
    out.emplace_back("A call that is slower or faster than its prediction here is so there by the same factor.");
    if (by_links_ > 0)
      out.push_back(fmt::format("{} of {} calls have no prediction on both machines: they change as the links' rates do, or not at all.",
                                by_links_, calls_));
    out.emplace_back("The host takes as long as here, and ranks fill node after node.");
  }
  if (outside_ > 0)
    out.push_back(fmt::format("Of {} calls not all ranks are traced: what they take beyond their prediction is waiting for others, which "
                              "changes as the kernels do.",
                              outside_));
  return out;
}

/// \throws Refusal for a word that says nothing
[[nodiscard]] std::vector<timeline::Without> left_out(const std::vector<std::string>& words) {
  std::vector<timeline::Without> out;
  for (const std::string& word : words) {
    const auto known = parse_enum<timeline::Without>(word, timeline::without_names);
    if (!known || *known == timeline::Without::nothing)
      throw Refusal(fmt::format("<without>: {} is none of straggler, wait and slow", word.empty() ? "an empty word" : word));
    if (std::find(out.begin(), out.end(), *known) == out.end()) out.push_back(*known);
  }
  return out;
}

struct Changed {
  std::string words;
  System system;
};
/// The machine with one part doubled, for each part that could be bought.
[[nodiscard]] std::vector<Changed> bought(const System& system) {
  std::vector<Changed> out;
  const auto add = [&](const char* words, DesignParameter parameter) {
    try {
      out.push_back({words, with_parameter(system, parameter, 2 * value_of(system, parameter))});
    } catch (const RequestError&) {  // the machine has no such part
    }
  };
  if (system.tier(TierRole::nic) != nullptr) add("NICs of twice the rate", DesignParameter::nic_bandwidth);
  if (system.tier(TierRole::scale_up) != nullptr) {
    add("scale-up links of twice the rate", DesignParameter::scale_up_bandwidth);
    add("a domain of twice the GPUs", DesignParameter::domain);
  }
  add("memory of twice the rate", DesignParameter::hbm_bandwidth);
  add("twice the arithmetic", DesignParameter::arithmetic);
  return out;
}

}  // namespace

void say_replay(const TraceRequest& request, const timeline::Job& job, TraceMachine& here, TraceAnswer& answer) {
  const std::vector<timeline::Without> without = left_out(request.without);
  if (request.on && here.system() == nullptr)
    throw Refusal("which machine are the traces of? Name it with <system>, to compare it with that of <on>", true);
  if (job.ranks.empty() || answer.step <= Time{}) throw RequestError("the traces show no work of a GPU that could be replayed");
  auto asked = request.on ? request.on.get(request.overrides) : nullptr;
  if (asked && asked->pod > 0) asked = std::make_shared<const System>(slice_for(*asked, here.world()));
  std::optional<TraceMachine> there;
  if (asked) there.emplace(request, asked, answer.notes);
  Exchange exchange(job, &here, there ? &*there : nullptr);
  TraceReplay& out = answer.replay.emplace();
  out.system = asked ? asked->name : here.system() != nullptr ? here.system()->name : "";
  const timeline::Replay middle = timeline::replay(job, exchange.at(End::middle));
  auto [step, terms] = step_of(middle.job);
  out.step = units::s(step);
  out.terms = std::move(terms);
  out.assumed = exchange.assumed();
  out.ratio = out.step / answer.step;
  const double steps = 1e9 * std::max(1, job.steps);
  for (const auto& [name, ns] : middle.path) out.path.push_back({name, units::s(ns / steps)});
  std::stable_sort(out.path.begin(), out.path.end(), [](const StepTerm& a, const StepTerm& b) { return a.time > b.time; });
  const auto step_at = [&](Exchange& how, End end, timeline::Without less) {
    return units::s(step_of(timeline::replay(job, how.at(end, less), less).job).first);
  };
  out.interval = {out.step, out.step};
  if (asked) {
    out.interval = {std::min(out.step, step_at(exchange, End::fast, timeline::Without::nothing)),
                    std::max(out.step, step_at(exchange, End::slow, timeline::Without::nothing))};
  }
  const auto change = [&](std::string words, Time after) {
    if (after > Time{}) out.changes.push_back({std::move(words), after, out.step / after - 1});
  };
  for (const timeline::Without one : without) {
    if (one == timeline::Without::slow && here.system() == nullptr)
      throw Refusal("which machine are the traces of? Name it with <system>: slow is what takes longer than predicted", true);
    if (job.ranks.size() < 2 && one != timeline::Without::slow)
      answer.notes.emplace_back("One rank is traced: who waits for whom, and how long, is not known.");
    change(fmt::format("without {}{}", timeline::without_names[static_cast<std::size_t>(one)],
                       one == timeline::Without::slow ? " calls" : ""),
           step_at(exchange, End::middle, one));
  }
  if (here.system() == nullptr) return;
  std::vector<std::string> ignored;
  for (Changed& one : bought(asked ? *asked : *here.system())) {
    TraceMachine machine(request, std::make_shared<const System>(std::move(one.system)), ignored);
    Exchange other(job, &here, &machine);
    change(std::move(one.words), step_at(other, End::middle, timeline::Without::nothing));
  }
  std::stable_sort(out.changes.begin(), out.changes.end(), [](const TracedChange& a, const TracedChange& b) { return a.gain > b.gain; });
}

std::pair<double, std::vector<StepTerm>> step_of(const timeline::Job& job) {
  constexpr double nanoseconds = 1e9;
  std::pair<double, std::vector<StepTerm>> out{};
  const auto shown = std::count_if(job.ranks.begin(), job.ranks.end(), [](const RankTrace& one) { return one.shows_compute; });
  if (shown == 0) return out;
  const double share = 1 / (static_cast<double>(shown) * std::max(1, job.steps));
  const auto add = [&](std::string name, auto&& part) {
    double seconds = 0;
    for (const timeline::Spent& one : job.spent) seconds += static_cast<double>(part(one)) / nanoseconds * share;
    if (seconds > 0) out.second.push_back({std::move(name), units::s(seconds)});
    out.first += seconds;
  };
  add("compute", [](const timeline::Spent& s) { return s.compute; });
  for (const timeline::Kind kind :
       {timeline::Kind::tensor, timeline::Kind::context, timeline::Kind::expert, timeline::Kind::pipeline, timeline::Kind::data,
        timeline::Kind::unknown})
    add(kind == timeline::Kind::unknown ? "other communication" : std::string{timeline::name(kind)},
        [&](const timeline::Spent& s) { return s.exposed[static_cast<std::size_t>(kind)]; });
  add("bubble", [](const timeline::Spent& s) { return s.bubble; });
  add("waiting", [](const timeline::Spent& s) { return s.waiting; });
  add("copies", [](const timeline::Spent& s) { return s.copies; });
  add("idle", [](const timeline::Spent& s) { return s.idle; });
  return out;
}

}  // namespace fabricost::observe::detail
