/// \file plan_timeline.cpp
/// The step of a planned layout as the traces a profiler would write of it: of one rank of each stage, kernel by kernel. Stages run the
/// schedule's own order (pipeline/run.hpp) with the times of the plan; a layer is its memory-bound kernels, its products, its attention and
/// its calls, of which the hidden part lies over the kernels before. Then the exchange of data, an all-reduce of the gradients' norm, which
/// stages wait in for each other and for the slowest node, and the optimizer. Launches that kernels do not hide are idle time.

#include "answers/trace/rank_events.hpp"

#include <fabricost/answers/plan.hpp>
#include <fabricost/pipeline/run.hpp>
#include <fabricost/training/step.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace fabricost {

namespace {

using detail::RankEvents, detail::RankGroup, detail::SentCall, detail::WorkContent;

class Timeline {
 public:
  explicit Timeline(const FoundPlan& found)
      : found_(found), l_(found.plan.layouts.front().layout), time_(found.plan.layouts.front().time), stack_(found.question.stack),
        gpu_(Processor::of(found.system)), costs_(found.system, {.ways = found.question.ways}) {
    stack_.memory = memory_on(stack_.memory, found.system.gpu.generation);
    layers_ = layer_times(found.question.model, l_, stack_, gpu_, costs_);
  }

  [[nodiscard]] std::vector<TimelineFile> files() {
    const detail::StepModel step{found_.question.model, l_, stack_, gpu_, costs_, layers_};
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
  [[nodiscard]] double scale() const { return stack_.scale; }
  [[nodiscard]] std::string kernel_name() const {
    return l_.precision == Precision::fp8 || l_.precision == Precision::fp4 ? "nvjet_gemm_e4m3" : "nvjet_gemm_bf16";
  }
  [[nodiscard]] std::string attention_name() const {
    return stack_.attention == AttentionKernel::fused_old ? "flash_fwd_kernel" : "cudnn_generated_fort_native_sdpa";
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
    for (const bool experts : {false, true}) {
      const int count = experts ? at.expert_layers : at.dense_layers;
      if (count > 0) add_layers(experts, count);
    }
    for (WorkContent* one : {&forward_, &backward_, &weight_}) {
      const double moved = stack_.attention == AttentionKernel::unfused ? one->attention : 0;
      one->memory += moved * scores_share(), one->products += moved * (1 - scores_share()), one->attention -= moved;
      one->scale(scale());
    }
    forward_.copies += stages_.out_of_gpu * scale(), backward_.copies += stages_.into_gpu * scale();
    weight_.memory += stages_.accumulate * scale();
  }

  /// Of attention that writes its scores to memory, the share of doing so (kernels/compute.hpp).
  [[nodiscard]] double scores_share() const {
    const Model& m = found_.question.model;
    const ComputeConstants& c = gpu_.constants;
    const double products = 2.0 * (m.query_width() + m.value_width()) / m.heads / (c.scores * c.gemm * gpu_.peak16);
    const double scores = c.score_bytes / (c.memory * gpu_.memory_rate);
    return scores / (products + scores);
  }

  void add_layers(bool experts, int count) {
    const detail::LayerModel layer{found_.question.model, l_, stack_, left(), costs_};
    const auto k = layer.kernels(experts);
    const auto x = layer.exchange(experts);
    const LayerTime& t = experts ? layers_.mixed : layers_.dense;
    const double n = count, products = k.products + k.adapters, gradients = l_.trains_all() ? k.products : k.adapters;
    WorkContent backward{.memory = 2 * k.element, .products = products, .attention = attention_backward(gpu_, stack_.attention) * k.core};
    if (l_.recompute == Recompute::selective)
      (l_.recompute_modules.empty() && !found_.question.model.latent() ? backward.attention : backward.products) +=
          layer.repeated(k, experts);
    const bool again = l_.recompute == Recompute::full;
    if (again) backward.memory += k.element, backward.products += products, backward.attention += k.core;
    const double forward_calls = x.tensor_forward + x.context / 3 + x.expert / 2;
    const double backward_calls = t.tensor + t.context + t.expert - forward_calls;
    forward_.memory += n * k.element, forward_.products += n * products, forward_.attention += n * k.core;
    forward_.idle += n * std::max(0.0, t.forward - forward_calls - k.sum());
    weight_.products += n * gradients;
    weight_.idle += n * std::max(0.0, t.weight - gradients);
    backward_.memory += n * backward.memory, backward_.products += n * backward.products, backward_.attention += n * backward.attention;
    backward_.idle += n * std::max(0.0, t.backward - backward_calls - backward.kernels());
    forward_.exposed += n * forward_calls, backward_.exposed += n * backward_calls;
    for (int i = 0; i < count; ++i) {
      calls(forward_, experts, false);
      calls(backward_, experts, true);
      if (again) calls(backward_, experts, false);
    }
  }

  [[nodiscard]] const Processor& left() {
    left_ = gpu_;
    for (double* peak : {&left_.peak16, &left_.peak8, &left_.peak4}) *peak *= stack_.compute_share;
    return left_;
  }

  /// Calls of one layer. Their groups are the first stage's; stages replace them.
  void calls(WorkContent& into, bool experts, bool backward) {
    const Model& m = found_.question.model;
    const double bytes = 2 * l_.tokens() * m.hidden;
    const int domain = domain_for_data(l_, found_.system.domain);
    const auto add = [&](const char* name, const char* words, int size, int stride, Collective what, double of, double seconds) {
      into.sent.push_back({group(name, words, 0, size, stride), what, of, seconds});
    };
    if (l_.tp > 1) {
      const Placement at = place(l_.tp, 1, domain);
      const auto tensor = [&](Collective what, int count) {
        for (int i = 0; i < count; ++i)
          add("tp", "TENSOR_MODEL_PARALLEL_GROUP", l_.tp, 1, what, bytes, costs_.seconds(what, at, bytes));
      };
      if (l_.sequence_parallel)
        tensor(Collective::all_gather, backward ? 4 : 2), tensor(Collective::reduce_scatter, 2);
      else
        tensor(Collective::all_reduce, 2);
    }
    if (l_.cp > 1) {
      const Placement ring = place(l_.cp, l_.tp, domain);
      const bool ulysses = l_.context == ContextParallel::ulysses;
      const double width = m.latent() ? (m.query_width() + m.value_width()) / l_.tp
                                      : m.kv_heads * (m.shared_kv ? 1.0 : 2.0) * m.head_dim / std::min<double>(l_.tp, m.kv_heads);
      const double of = 2 * l_.tokens() * (ulysses ? width + m.query_width() / l_.tp : width * l_.cp);
      const Collective what = ulysses ? Collective::all_to_all : Collective::all_gather;
      for (int i = 0; i < (backward ? 2 : 1); ++i)
        add("cp", "CONTEXT_PARALLEL_GROUP", l_.cp, l_.tp, what, of, costs_.seconds(what, ring, of));
    }
    if (experts && l_.ep > 1 && stack_.expert_exposed > 0) {
      const Gate gate{m.experts, m.top_k, m.expert_groups, m.group_limit};
      const ExpertCurve& curve =
          costs_.experts(gate, place_experts(l_.ep, domain, l_.expert_tp), stack_.deduplicated ? Copies::per_domain : Copies::per_expert,
                         token_bytes(m.hidden, Precision::bf16), {stack_.routing, stack_.zipf_exponent, {}});
      const double once = std::max(1.0, stack_.capacity) * curve(l_.tokens() / l_.tp);
      for (int i = 0; i < 2; ++i)
        add("ep", "EXPERT_MODEL_PARALLEL_GROUP", l_.ep, l_.expert_tp, Collective::all_to_all, bytes / l_.tp * m.top_k, once);
    }
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
    const double bytes = 2 * l_.tokens() * found_.question.model.hidden / (l_.sequence_parallel ? l_.tp : 1);
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
            ranks[static_cast<std::size_t>(before.stage)].hand_over(pair, bytes, sent * scale(), end * scale(), b, false);
            ranks[static_cast<std::size_t>(s)].hand_over(pair, bytes, begin * scale(), end * scale(), a, true);
            last = end;
          }
        }
        free = bar.end;
      }
    }
  }

  void stage(RankEvents& rank, int s, const PipelineWay& way, const detail::StepModel& step) {
    const std::array<WorkContent, 3> pieces{on_stage(forward_, s), on_stage(backward_, s), on_stage(weight_, s)};
    const double ends = stages_.times.last_extra * scale();
    const StageContent& content = stages_.fullest;
    const int layers = std::max(1, (content.layers + way.parts() - 1) / way.parts());
    const std::vector<Bar>& bars = run_.bars[static_cast<std::size_t>(s)];
    const std::vector<SentCall> shards = data(s, step);
    const bool by_microbatch = l_.zero == 3 && l_.pp == 1;
    // with stages, what every microbatch hides of gathering its weights lies over its work, the rest at the end
    const double whole = l_.microbatches() * std::accumulate(shards.begin(), shards.end(), 0.0, [](double so_far, const SentCall& one) {
                           return so_far + one.seconds;
                         });
    const double exposed = l_.zero == 3 && !by_microbatch && whole > 0 ? std::min(1.0, time_.data * scale() / whole) : 1;
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const Bar& bar = bars[i];
      const bool second = i > 0 && bars[i - 1].work.with_next;
      if (!by_microbatch && !second) rank.idle_until(bar.start * scale());
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
      if (by_microbatch && done) rank.exchange(shards, time_.data * scale() / l_.microbatches());
      if (exposed < 1 && done && bar.work.chunk == 0) rank.exchange(part_of(shards, 1 - exposed), 0);
    }
    if (exposed < 1)
      for (int i = 0; i < l_.microbatches(); ++i) rank.exchange(part_of(shards, exposed), time_.data * scale() / l_.microbatches());
    else if (!by_microbatch)
      rank.exchange(shards, time_.data * scale());
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
  [[nodiscard]] std::vector<SentCall> data(int s, const detail::StepModel& step) {
    std::vector<SentCall> out;
    const bool single = stack_.gradient_bytes > 2;
    const auto add = [&](const auto& at, double count, const char* name, const char* words, int ranks, int stride) {
      if (!(count > 0) || ranks < 2) return;
      const RankGroup* const all = group(name, words, s, ranks, stages_inside() ? stride * l_.pp : stride);
      const double gradients = stack_.gradient_bytes * count;
      if (l_.zero == 0) {
        out.push_back({all, Collective::all_reduce, gradients, step.gradients(at, count) * scale(), single});
        return;
      }
      const int gathers = l_.zero == 3 ? 2 : 1;
      for (int i = 0; i < gathers; ++i) out.push_back({all, Collective::all_gather, 2 * count, step.gathered(at, count) * scale()});
      out.push_back({all, Collective::reduce_scatter, gradients, step.reduced(at, count) * scale(), single});
      if (const double across = step.across(at, count); across > 0)
        out.push_back({group(std::string{name} + "-across", words, s, at.across.ranks(), stride * at.shard.ranks()), Collective::all_reduce,
                       gradients / at.shard.ranks(), across * scale(), single});
    };
    add(step.data_replicas(), stages_.trained.shared(), "dp", "DATA_PARALLEL_GROUP", l_.dp * l_.cp, l_.tp);
    const int held = l_.ep * l_.expert_tp;
    const int copies = l_.tp * l_.cp * l_.dp / std::max(1, held);
    add(step.expert_replicas(), stages_.trained.experts, "edp", "EXPERT_DATA_PARALLEL_GROUP", copies, held);
    return out;
  }

  /// Waiting for other stages and for the slowest node; the optimizer.
  void finish(RankEvents& rank) {
    const double waits = time_.stragglers * scale();
    constexpr double near = 1 + 1e-9;
    if (run_.makespan <= near * run_.longest_stage && l_.gpus() > 1) {
      const double until = (run_.longest_stage + time_.data) * scale() + waits;
      static const std::string name = "default_pg";
      const RankGroup& world = groups_.try_emplace(name, RankGroup{name, name, l_.gpus(), 0, 1}).first->second;
      const double from = rank.now;
      rank.idle_until(until);
      if (until > from) rank.call({&world, Collective::all_reduce, 4, until - from, true}, from);
    } else {
      rank.idle_until(rank.now + waits);
    }
    rank.kernel("void multi_tensor_apply_kernel<AdamFunctor>", time_.optimizer * scale());
    const double copies = (time_.offload - l_.microbatches() * (stages_.out_of_gpu + stages_.into_gpu)) * scale();
    rank.copy(copies);
  }

  const FoundPlan& found_;
  Layout l_;
  StepTime time_;
  Stack stack_;
  Processor gpu_, left_;
  GroupCosts costs_;
  LayerTimes layers_;
  detail::StepModel::Stages stages_;
  PipelineRun run_;
  WorkContent forward_, backward_, weight_;
  std::map<std::string, RankGroup> groups_;
};

}  // namespace

std::vector<TimelineFile> timeline_of(const FoundPlan& found) {
  if (found.plan.layouts.empty()) throw RequestError("there is no layout whose step could be written");
  return Timeline(found).files();
}

}  // namespace fabricost
