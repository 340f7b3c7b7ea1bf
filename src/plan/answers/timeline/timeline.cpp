/// The step of a planned layout as the traces a profiler would write of it: of one rank of each stage, kernel by kernel. Stages run the
/// schedule's own order (pipeline/run.hpp) with the times of the plan; a layer is its memory-bound kernels, its products, its attention and
/// its calls, of which the hidden part lies over the kernels before. Then the exchange of data, an all-reduce of the gradients' norm, which
/// stages wait in for each other and for the slowest node, and the optimizer. Launches that kernels do not hide are idle time.

#include "answers/timeline/rank_events.hpp"
#include "pipeline/orders.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/pipeline/run.hpp>
#include <fabricost/plan/training/step.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace fabricost::plan {

namespace {

using detail::RankEvents, detail::RankGroup, detail::SentCall, detail::WorkContent;

class Timeline {
 public:
  explicit Timeline(const FoundPlan& found)
      : found_(found),
        l_(found.plan.layouts.front().layout),
        time_(found.plan.layouts.front().time),
        stack_(found.question.stack),
        bare_(Processor::of(found.system)),
        gpu_(driven_by(stack_, l_, bare_)),
        costs_(found.system, {.ways = found.question.ways}) {
    stack_.memory = memory_on(stack_.memory, found.system.gpu.generation);
    layers_ = layer_times(found.question.model, l_, stack_, bare_, costs_);
  }

  [[nodiscard]] std::vector<TimelineFile> files() {
    const StepModel step{found_.question.model, l_, stack_, gpu_, bare_, costs_, layers_, long_stages(found_.question.model, l_)};
    stages_ = step.stages();
    const PipelineSchedule schedule = l_.pp > 1 ? schedule_of(l_) : PipelineSchedule::one_f_one_b;
    run_ = run_pipeline(schedule, l_.pp, stages_.chunks, l_.microbatches(), stages_.times);
    PipelineWay way(schedule, l_.pp, stages_.chunks);
    fill();
    std::vector<RankEvents> ranks;
    for (int s = 0; s < l_.pp; ++s) ranks.emplace_back(rank_of(s), kernel_name(), attention_name());
    hand_over(ranks, way);
    for (int s = 0; s < l_.pp; ++s) stage(ranks[static_cast<std::size_t>(s)], s, way, step);
    std::vector<TimelineFile> out;
    for (int s = 0; s < l_.pp; ++s)
      out.push_back({fmt::format("rank{}.json", rank_of(s)),
                     ranks[static_cast<std::size_t>(s)].text(found_.system.gpu.name, l_.gpus(), time_.seconds)});
    return out;
  }

 private:
  [[nodiscard]] std::string kernel_name() const {
    return l_.precision == Precision::fp8 || l_.precision == Precision::fp4 ? "nvjet_gemm_e4m3" : "nvjet_gemm_bf16";
  }
  [[nodiscard]] std::string attention_name() const {
    return stack_.attention == AttentionKernel::flash2 ? "flash_fwd_kernel" : "cudnn_generated_fort_native_sdpa";
  }
  [[nodiscard]] bool stages_inside() const { return l_.placing == Placing::stages_inside && l_.pp > 1; }
  [[nodiscard]] int rank_of(int stage) const { return stage * l_.tp * l_.cp * (stages_inside() ? 1 : l_.dp); }
  /// A group of a stage's first rank.
  [[nodiscard]] const RankGroup* group(const std::string& name, const std::string& words, int stage, int size, int stride) {
    const std::string full = fmt::format("{} {}", name, stage);
    return &groups_.try_emplace(full, RankGroup{full, words, size, rank_of(stage), stride}).first->second;
  }

  /// Forward, input gradients and weight gradients of all layers of the fullest stage.
  void fill() {
    const StageContent& at = stages_.fullest;
    const bool whole = !has_single_blocks(found_.question.model);
    add_layers({whole, true, false}, at.dense_layers, layers_.dense);
    add_layers({whole, true, true}, at.expert_layers, layers_.mixed);
    if (!whole) add_layers({true, false, false}, at.mixing_layers, layers_.mixing);
    forward_.exposed += stages_.alone / 2;
    backward_.exposed += stages_.alone / 2;
    for (WorkContent* one : {&forward_, &backward_, &weight_}) {
      const double moved = stack_.attention == AttentionKernel::math ? one->attention : 0;
      one->memory += moved * scores_share();
      one->products += moved * (1 - scores_share());
      one->attention -= moved;
    }
    forward_.copies += stages_.out_of_gpu;
    backward_.copies += stages_.into_gpu;
    weight_.memory += stages_.accumulate;
  }

  /// The share that scores take in attention that writes them to memory (kernels/compute.hpp).
  [[nodiscard]] double scores_share() const {
    const Model& m = found_.question.model;
    const ComputeConstants& c = gpu_.constants;
    const double products = 2.0 * (m.query_width() + m.value_width()) / m.heads / (c.scores * c.gemm * gpu_.peak16);
    const double scores = c.score_bytes / (c.memory * gpu_.memory_rate);
    return scores / (products + scores);
  }

  /// \param t of one of the layers
  void add_layers(LayerParts parts, int count, const LayerTime& t) {
    if (count <= 0) return;
    const LayerModel layer{found_.question.model, l_, stack_, gpu_, costs_};
    const auto k = layer.kernels(parts);
    const auto w = layer.backward_work(k, parts.experts);
    const double n = count, products = k.products + k.adapters, gradients = l_.trains_all() ? k.products : k.adapter_products;
    WorkContent backward{.memory = w.element, .products = w.products + w.adapters - gradients, .attention = w.core + w.scan};
    (l_.recompute_modules.empty() && !found_.question.model.latent() ? backward.attention : backward.products) += w.repeated;
    const bool again = l_.recompute == Recompute::full;
    if (again) {
      backward.memory += k.element;
      backward.products += products;
      backward.attention += k.core + k.scan;
    }
    for (const LayerExchange& x : layer.exchanges(parts))
      for (int i = 0; i < count; ++i) call(forward_, x, x.forward), call(backward_, x, layer.in_backward(x, parts));
    const double forward_calls = t.exposed_forward, backward_calls = t.tensor + t.context + t.expert - forward_calls;
    forward_.memory += n * k.element;
    forward_.products += n * products;
    forward_.attention += n * (k.core + k.scan);
    forward_.idle += n * std::max(0.0, t.forward - forward_calls - k.sum());
    weight_.products += n * gradients;
    weight_.idle += n * std::max(0.0, t.weight - gradients);
    backward_.memory += n * backward.memory;
    backward_.products += n * backward.products;
    backward_.attention += n * backward.attention;
    backward_.idle += n * std::max(0.0, t.backward - backward_calls - backward.kernels());
    forward_.exposed += n * forward_calls;
    backward_.exposed += n * backward_calls;
  }

  /// Calls of an exchange; a part of one carries its share of the bytes. Their groups are the first stage's; stages replace them.
  void call(WorkContent& into, const LayerExchange& x, double times) {
    const int calls = static_cast<int>(std::ceil(times - 1e-9));
    const int stride = x.group == StepGroup::tensor ? 1 : x.group == StepGroup::context ? l_.tp : l_.expert_tp;
    const bool of_expert = x.group == StepGroup::tensor && x.at.ranks() != l_.tp;
    const auto& [name, words] = of_expert                       ? std::pair{"etp", "EXPERT_TENSOR_PARALLEL_GROUP"}
                                : x.group == StepGroup::tensor  ? std::pair{"tp", "TENSOR_MODEL_PARALLEL_GROUP"}
                                : x.group == StepGroup::context ? std::pair{"cp", "CONTEXT_PARALLEL_GROUP"}
                                                                : std::pair{"ep", "EXPERT_MODEL_PARALLEL_GROUP"};
    for (int i = 0; i < calls; ++i)
      into.sent.push_back({group(name, words, 0, x.at.ranks(), stride), x.collective, x.bytes * times / calls, x.seconds * times / calls});
  }

  /// The calls of a piece, with the groups of a stage.
  [[nodiscard]] WorkContent on_stage(WorkContent content, int stage) {
    for (SentCall& one : content.sent) {
      const RankGroup& first = *one.group;
      one.group = group(first.name.substr(0, first.name.find(' ')), first.words, stage, first.size, first.stride);
    }
    return content;
  }

  /// Sends and receives between stages. A receive waits from when its stage is free.
  void hand_over(std::vector<RankEvents>& ranks, const PipelineWay& way) {
    if (l_.pp < 2) return;
    const StepModel step{found_.question.model, l_, stack_, gpu_, bare_, costs_, layers_, long_stages(found_.question.model, l_)};
    const double bytes = step.handed_over();
    std::map<std::tuple<int, int, bool, int>, double> ends;
    for (int s = 0; s < l_.pp; ++s)
      for (const Bar& bar : run_.bars[static_cast<std::size_t>(s)])
        if (bar.work.kind != WorkKind::weight) ends[{s, bar.work.chunk, bar.work.kind == WorkKind::forward, bar.work.microbatch}] = bar.end;
    std::map<std::pair<int, int>, double> received;
    for (int s = 0; s < l_.pp; ++s) {
      double free = 0;
      for (const Bar& bar : run_.bars[static_cast<std::size_t>(s)]) {
        const bool forward = bar.work.kind == WorkKind::forward;
        const int position = way.position({s, bar.work.chunk}), from = forward ? position - 1 : position + 1;
        if (bar.work.kind != WorkKind::weight && from >= 0 && from < way.length()) {
          const PipelinePlace before = way.place(from, bar.work.chunk);
          const double sent = ends[{before.stage, before.chunk, forward, bar.work.microbatch}];
          if (before.stage != s) {
            const std::string name = fmt::format("pp {} {} to {}", forward ? "forward" : "backward", before.stage, s);
            const int a = rank_of(before.stage), b = rank_of(s);
            const RankGroup& pair =
                groups_.try_emplace(name, RankGroup{name, "PIPELINE_MODEL_PARALLEL_GROUP", 2, std::min(a, b), std::abs(a - b)})
                    .first->second;
            double& last = received[{s, forward ? 1 : 0}];
            const double end = sent + stages_.times.exchange, begin = std::min(end, std::max(last, std::min(sent, free)));
            ranks[static_cast<std::size_t>(before.stage)].hand_over(pair, bytes, sent, end, b, false);
            ranks[static_cast<std::size_t>(s)].hand_over(pair, bytes, begin, end, a, true);
            last = end;
          }
        }
        free = bar.end;
      }
    }
  }

  void stage(RankEvents& rank, int s, const PipelineWay& way, const StepModel& step) {
    const std::array<WorkContent, 3> pieces{on_stage(forward_, s), on_stage(backward_, s), on_stage(weight_, s)};
    const double ends = stages_.times.last_extra;
    const StageContent& content = stages_.fullest;
    const int layers = std::max(1, (content.layers + way.parts() - 1) / way.parts());
    const std::vector<Bar>& bars = run_.bars[static_cast<std::size_t>(s)];
    const std::vector<SentCall> shards = data(s, step);
    const bool by_microbatch = l_.zero == 3 && l_.pp == 1;
    // with stages, the hidden part of a microbatch's weight gathering lies over its work, the rest at the end
    const double whole = l_.microbatches() * std::accumulate(shards.begin(), shards.end(), 0.0,
                                                             [](double so_far, const SentCall& one) { return so_far + one.seconds; });
    const double exposed = l_.zero == 3 && !by_microbatch && whole > 0 ? std::min(1.0, time_.data / whole) : 1;
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const Bar& bar = bars[i];
      const bool second = i > 0 && bars[i - 1].work.with_next;
      if (!by_microbatch && !second) rank.idle_until(bar.start);
      std::vector<std::size_t> parts{static_cast<std::size_t>(bar.work.kind)};
      if (bar.work.kind == WorkKind::full_backward) parts = {1, 2};
      const bool last = way.position({s, bar.work.chunk}) == way.length() - 1;
      for (const std::size_t part : parts) {
        WorkContent one = share_of(pieces[part], bar.work, way.parts());
        if (last) one.products += ends / 3;
        if (paired(bars, i)) one.scale(pair_scale());
        rank.work(one, layers);
      }
      const bool done = bar.work.kind == WorkKind::full_backward || bar.work.kind == WorkKind::weight;
      if (by_microbatch && done) rank.exchange(shards, time_.data / l_.microbatches());
      if (exposed < 1 && done && bar.work.chunk == 0) rank.exchange(part_of(shards, 1 - exposed), 0);
    }
    if (exposed < 1)
      for (int i = 0; i < l_.microbatches(); ++i) rank.exchange(part_of(shards, exposed), time_.data / l_.microbatches());
    else if (!by_microbatch)
      rank.exchange(shards, time_.data);
    finish(rank);
  }

  /// A chunk's share of a stage's work; of its calls, those of its layers.
  [[nodiscard]] static WorkContent share_of(const WorkContent& all, const Work& work, int parts) {
    if (parts == 1) return all;
    WorkContent out = all;
    const std::size_t count = all.sent.size(), chunk = static_cast<std::size_t>(work.chunk), n = static_cast<std::size_t>(parts);
    out.sent.assign(all.sent.begin() + static_cast<std::ptrdiff_t>(count * chunk / n),
                    all.sent.begin() + static_cast<std::ptrdiff_t>(count * (chunk + 1) / n));
    for (double* one : {&out.memory, &out.products, &out.attention, &out.idle, &out.copies, &out.exposed}) *one /= parts;
    return out;
  }
  /// The same calls with that share of their bytes.
  [[nodiscard]] static std::vector<SentCall> part_of(std::vector<SentCall> all, double share) {
    for (SentCall& one : all) one.bytes *= share, one.seconds *= share;
    return all;
  }
  [[nodiscard]] static bool paired(const std::vector<Bar>& bars, std::size_t i) {
    return bars[i].work.with_next || (i > 0 && bars[i - 1].work.with_next);
  }
  [[nodiscard]] double pair_scale() const {
    const StageTimes& t = stages_.times;
    return t.overlapped > 0 ? t.overlapped / t.work() : 1;
  }

  /// The exchange of gradients and weights of a stage: of shared parameters, then of experts.
  [[nodiscard]] std::vector<SentCall> data(int s, const StepModel& step) {
    std::vector<SentCall> out;
    const bool single = stack_.gradient_bytes > 2;
    for (const DataExchange& x : step.data_exchanges(stages_.local, stages_.trained)) {
      const bool of_experts = x.group == StepGroup::expert_data;
      const auto& all = of_experts ? step.expert_replicas().all : step.data_replicas().all;
      const int own = of_experts ? l_.ep * l_.expert_tp : l_.tp;
      const bool across = l_.zero > 0 && x.collective == Collective::all_reduce;  // among the ranks with the same share
      const int stride = (across ? all.ranks() / x.at.ranks() : 1) * own * (stages_inside() ? l_.pp : 1);
      const std::string name = fmt::format("{}{}", of_experts ? "edp" : "dp", across ? "-across" : "");
      const char* const words = of_experts ? "EXPERT_DATA_PARALLEL_GROUP" : "DATA_PARALLEL_GROUP";
      const bool gathers = x.collective == Collective::all_gather;
      for (int i = 0; i < static_cast<int>(x.last); ++i)
        out.push_back({group(name, words, s, x.at.ranks(), stride), x.collective, x.bytes, x.seconds, single && !gathers});
    }
    return out;
  }

  /// Waiting for other stages and for the slowest node; the optimizer.
  void finish(RankEvents& rank) {
    const double waits = time_.stragglers;
    constexpr double near = 1 + 1e-9;
    if (run_.makespan <= near * run_.longest_stage && l_.gpus() > 1) {
      const double until = (run_.longest_stage + time_.data) + waits;
      static const std::string name = "default_pg";
      const RankGroup& world = groups_.try_emplace(name, RankGroup{name, name, l_.gpus(), 0, 1}).first->second;
      const double from = rank.now;
      rank.idle_until(until);
      if (until > from) rank.call({&world, Collective::all_reduce, 4, until - from, true}, from);
    } else {
      rank.idle_until(rank.now + waits);
    }
    rank.kernel("void multi_tensor_apply_kernel<AdamFunctor>", time_.optimizer);
    const double copies = (time_.offload - l_.microbatches() * (stages_.out_of_gpu + stages_.into_gpu));
    rank.copy(copies);
    rank.kernel(kernel_name(), time_.frozen + time_.evaluation);
    rank.idle_until(rank.now + time_.input);
  }

  const FoundPlan& found_;
  Layout l_;
  StepTime time_;
  Stack stack_;
  Processor bare_, gpu_;  ///< as it comes, and as the stack drives it
  GroupCosts costs_;
  LayerTimes layers_;
  StepModel::Stages stages_;
  PipelineRun run_;
  WorkContent forward_, backward_, weight_;
  std::map<std::string, RankGroup> groups_;
};

}  // namespace

std::vector<TimelineFile> timeline_of(const FoundPlan& found) {
  if (found.question.model.recommends())
    throw RequestError(found.question.model.name + ": traces are of transformers; a recommendation model has none");
  if (found.plan.layouts.empty()) throw RequestError("there is no layout whose step could be written");
  return Timeline(found).files();
}

}  // namespace fabricost::plan
