/// Reads the file once. Of an event only the parts that show its kind are read, until it proves to be of use; kernels that compute are
/// kept as the union of their spans.

#include "readings/traces/kineto.hpp"

#include "readings/traces/json_pieces.hpp"
#include "readings/traces/readers.hpp"
#include "text/line_reader.hpp"

#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>

namespace fabricost::observe {

namespace kineto {
namespace {

constexpr std::int64_t latest = 2'000'000'000'000'000'000;  // ns, the year 2033: sums of three stay in range

enum class Category : unsigned char { other, kernel, copy, launch, annotation, host };
[[nodiscard]] Category category_of(std::string_view cat) {
  if (cat == "kernel" || cat == "Kernel") return Category::kernel;
  if (cat == "gpu_memcpy" || cat == "gpu_memset" || cat == "Memcpy" || cat == "Memset") return Category::copy;
  if (cat == "cuda_runtime" || cat == "cuda_driver" || cat == "Runtime" || cat == "hip_runtime") return Category::launch;
  if (cat == "user_annotation") return Category::annotation;
  if (cat == "cpu_op" || cat == "Operator") return Category::host;
  return Category::other;
}

/// The arguments of a kernel, a record or an annotation.
struct Arguments {
  std::int64_t correlation = 0, external = 0, sequence = -1, size = 0, first = -1, stride = 0, source = -1, target = -1;
  int stream = 0;
  std::string_view operation, type, group, words, ranks, dims, types;
  Elements elements;
};
constexpr std::array<std::pair<std::string_view, std::int64_t Arguments::*>, 8> whole_arguments{{{"correlation", &Arguments::correlation},
                                                                                                 {"External id", &Arguments::external},
                                                                                                 {"Group size", &Arguments::size},
                                                                                                 {"Global rank start", &Arguments::first},
                                                                                                 {"Global rank stride", &Arguments::stride},
                                                                                                 {"Seq", &Arguments::sequence},
                                                                                                 {"Src Rank", &Arguments::source},
                                                                                                 {"Dst Rank", &Arguments::target}}};
constexpr std::array<std::pair<std::string_view, std::string_view Arguments::*>, 7> text_arguments{
    {{"Collective name", &Arguments::operation},
     {"dtype", &Arguments::type},
     {"Process Group Name", &Arguments::group},
     {"Process Group Description", &Arguments::words},
     {"Process Group Ranks", &Arguments::ranks},
     {"Input Dims", &Arguments::dims},
     {"Input dims", &Arguments::dims}}};

class Reader {
 public:
  Reader(const std::filesystem::path& file, Keep keep) : json_(file), keep_(keep == Keep::kernels) { trace_.file = json_.name(); }

  RankTrace run() {
    json_.read(
        "traceEvents", [&](std::string_view key, std::string_view value) { member(key, value); },
        [&](std::string_view value) { event(value); });
    if (!(events_ > 0)) {
      throw fault_of_file(json_.name(), "this is JSON, but no trace: it has no events",
                          "name what the profiler wrote (export_chrome_trace, tensorboard_trace_handler)");
    }
    complete_groups();
    take_calls_of_host();
    kineto::join(kept_, trace_);
    trace_.compute = compute_.take();
    for (const Span& one : trace_.compute) busy_.add(one);
    trace_.busy = busy_.take();
    if (last_ < first_) first_ = last_ = 0;  // nothing on the GPU
    constexpr std::int64_t longest = 1'000'000'000'000'000;
    if (last_ - first_ > longest) throw fault_of_file(json_.name(), "its events lie more than ten days apart", "a trace is of some steps");
    trace_.whole = {first_, last_};
    from_start();
    return std::move(trace_);
  }

 private:
  void member(std::string_view key, std::string_view value) {
    if (key == "distributedInfo") distributed(value);
    if (key == "baseTimeNanoseconds") base_ = std::clamp(json_whole(value, 0), -latest, latest);
    if (key == "deviceProperties")
      for (JsonMembers devices(value); trace_.gpu.empty() && devices.next();)
        for (JsonMembers one(devices.value); one.next();)
          if (one.key == "name") trace_.gpu = shown_text(one.value);
  }

  void distributed(std::string_view value) {
    for (JsonMembers m(value); m.next();) {
      if (m.key == "rank") trace_.rank = count_in(m.value);
      if (m.key == "world_size") trace_.world = std::max(0, count_in(m.value));
      if (m.key == "nccl_version") trace_.library = shown_text(m.value);
      if (m.key != "pg_config") continue;
      for (JsonMembers groups(m.value); groups.next();) {
        TracedGroup group = listed_group(groups.value);
        if (!group.name.empty()) configured_[group.name] = std::move(group);
      }
    }
  }

  [[noreturn]] void bad(std::string_view what) const { json_.fail(fmt::format("an event's {} is not what a profiler writes", what)); }

  void event(std::string_view raw) {
    if (raw.empty() || raw.front() != '{') bad("form");
    if (++events_ % 65536 == 0) ask_to_go_on();
    std::string_view name, start, length, args, thread;
    Category category = Category::other;
    bool known = false, complete = true;
    JsonMembers m(raw);
    while (m.next()) {
      if (m.key == "cat") {
        category = category_of(unquoted(m.value));
        known = true;
        if (category == Category::other) return;
      } else if (m.key == "name") {
        name = unquoted(m.value);
        if (known && is_of_no_use(category, name)) return;
      } else if (m.key == "ph") {
        complete = m.value == "\"X\"";
        if (!complete) return;
      } else if (m.key == "ts") {
        start = m.value;
      } else if (m.key == "dur") {
        length = m.value;
      } else if (m.key == "tid") {
        thread = m.value;
      } else if (m.key == "args") {
        args = m.value;
      }
    }
    if (m.broken()) bad("form");
    if (!known || is_of_no_use(category, name)) return;
    Span span;
    std::int64_t duration = 0;
    if (!nanoseconds(start, span.from)) bad("ts");
    if (length.empty() || !nanoseconds(length, duration) || duration < 0 || duration > latest) bad("dur");
    span.to = span.from + duration;
    take(category, name, span, args, json_whole(thread, 0));
  }

  [[nodiscard]] static bool is_of_no_use(Category category, std::string_view name) {
    switch (category) {
      case Category::launch: return name.find("aunch") == std::string_view::npos;
      case Category::host: return name != "record_param_comms";
      case Category::annotation:
        for (const std::string_view begin : {"nccl:", "ProfilerStep", "gloo:", "mpi:", "execute_", "step[", "prefill[", "decode["})
          if (name.starts_with(begin)) return false;
        return true;
      default: return false;
    }
  }

  void on_gpu(const Span& span) {
    first_ = std::min(first_, span.from);
    last_ = std::max(last_, span.to);
  }

  void take(Category category, std::string_view name, const Span& span, std::string_view args, std::int64_t thread) {
    switch (category) {
      case Category::launch: {
        const Arguments a = arguments(args);
        if (a.correlation > 0) kept_.launches.push_back({a.correlation, span.from, thread});
        return;
      }
      case Category::annotation:
        if (name.starts_with("ProfilerStep"))
          trace_.steps.push_back(span);
        else if (add_pass(name, trace_.passes))
          passes_.push_back(span);
        else if (name.find(':') != std::string_view::npos)
          asked(span, arguments(args), thread, name);
        return;
      case Category::host: asked(span, arguments(args), thread, {}); return;
      case Category::copy:
        on_gpu(span);
        busy_.add(span);
        if (keep_) keep(span, args, thread, work_of_copy(name), true);
        return;
      default: break;
    }
    on_gpu(span);
    const std::optional<Moves> moves = moves_of_kernel(name);
    if (!moves) {
      compute_.add(span);
      if (keep_) keep(span, args, thread, work_of(name), false);
      return;
    }
    const Arguments a = arguments(args);
    Kernel kernel{
        .call = call_of(span, a), .correlation = a.correlation, .external = a.external, .receives = a.target < 0 && a.source >= 0};
    kernel.has_operation = kernel.call.moves != Moves::unknown;
    if (!kernel.has_operation) kernel.call.moves = *moves;
    if (keep_ && kernel.call.stream == 0) kernel.call.stream = stream_of(thread);  // on a GPU, a thread is a stream
    kept_.kernels.push_back(kernel);
  }

  [[nodiscard]] static int stream_of(std::int64_t thread) { return static_cast<int>(std::clamp<std::int64_t>(thread, 0, 1'000'000'000)); }
  /// A trace has few names and many kernels.
  [[nodiscard]] Work work_of(std::string_view name) {
    const auto known = works_.find(name);
    return known != works_.end() ? known->second : works_.emplace(name, work_of_kernel(name)).first->second;
  }
  void keep(const Span& span, std::string_view args, std::int64_t thread, Work work, bool copy) {
    const Arguments a = arguments(args);
    trace_.kernels.push_back({span, a.correlation, a.stream > 0 ? a.stream : stream_of(thread), work, copy});
  }

  [[nodiscard]] Arguments arguments(std::string_view raw) const {
    Arguments a;
    if (raw.empty()) return a;
    JsonMembers m(raw);
    while (m.next()) {
      const std::string_view key = m.key, value = m.value;
      for (const auto& [name, member] : whole_arguments)
        if (key == name) a.*member = json_whole(value, a.*member);
      for (const auto& [name, member] : text_arguments)
        if (key == name) a.*member = unquoted(value);
      if (key == "stream") a.stream = stream_of(json_whole(value, 0));
      if (key == "In msg nelems") a.elements.in = json_whole(value, -1);
      if (key == "Out msg nelems") a.elements.out = json_whole(value, -1);
      if (key == "Input type") a.types = value;
    }
    if (m.broken()) bad("args");
    return a;
  }

  [[nodiscard]] std::uint32_t group_of(const Arguments& a) {
    return places_.of(fmt::format("{}|{}|{}", a.group, a.ranks, a.size), trace_, [&] {
      constexpr std::int64_t most = 1'000'000;
      TracedGroup group{.name = shown_text(a.group),
                        .words = shown_text(a.words),
                        .ranks = {},
                        .size = static_cast<int>(std::clamp<std::int64_t>(a.size, 0, most))};
      bool cut = false;
      group.ranks = ranks_in(a.ranks, cut);
      if (cut || (group.size > 0 && static_cast<int>(group.ranks.size()) != group.size)) group.ranks.clear();
      if (group.ranks.empty() && group.size > 0 && a.first >= 0 && a.stride > 0 && a.stride < most && a.first < most)
        for (std::int64_t i = 0; i < group.size; ++i) group.ranks.push_back(static_cast<int>(a.first + i * a.stride));
      return group;
    });
  }

  /// The ranks that a gather's or a scatter's own sizes tell: what goes in over what comes out. 0: they do not.
  [[nodiscard]] static std::int64_t ranks_by_shape(Moves moves, const Elements& elements) {
    const auto [in, out] = elements;
    if (in <= 0 || out <= 0) return 0;
    if (moves == Moves::all_gather && out % in == 0) return out / in;
    return moves == Moves::reduce_scatter && in % out == 0 ? in / out : 0;
  }

  [[nodiscard]] TracedCall call_of(const Span& span, Arguments a) {
    TracedCall out{.span = span, .sequence = a.sequence, .stream = a.stream};
    if (!a.operation.empty()) out.moves = moves_named(a.operation);
    if (const std::int64_t ranks = ranks_by_shape(out.moves, a.elements); ranks > 1) a.size = ranks;
    out.group = group_of(a);
    out.type = type_named(a.type);
    constexpr std::int64_t most = 1'000'000;
    const std::int64_t peer = a.target >= 0 ? a.target : a.source;
    if (out.moves == Moves::send_recv && peer < most) out.peer = static_cast<int>(peer);
    out.bytes = bytes_of_call(out.moves, a.elements, out.type.width, static_cast<int>(std::clamp<std::int64_t>(a.size, 0, most)));
    return out;
  }

  void asked(const Span& span, const Arguments& a, std::int64_t thread, std::string_view annotation) {
    CallRequest one{.call = call_of(span, a),
                    .external = a.external,
                    .thread = thread,
                    .annotation = !annotation.empty(),
                    .receives = a.operation.find("recv") != std::string_view::npos};
    if (one.annotation) {
      one.call.moves = moves_named(annotation);
      one.on_host = !annotation.starts_with("nccl:");
      JsonMembers types(a.types.empty() ? "[]" : a.types);
      if (types.next()) one.call.type = type_named(unquoted(types.value));
      one.call.bytes = bytes_of_call(one.call.moves, {elements_in(a.dims), -1}, one.call.type.width, trace_.world);
    }
    kept_.asked.push_back(one);
  }

  /// Takes the calls of the host's libraries if nothing ran on a GPU.
  void take_calls_of_host() {
    if (last_ >= first_) return;
    for (const CallRequest& one : kept_.asked) {
      if (!one.on_host) continue;
      on_gpu(one.call.span);
      Kernel call;
      call.call = one.call;
      kept_.kernels.push_back(call);
    }
  }

  /// Groups whose ranks an event left out, from the list at the top; a group that nothing names is the whole world.
  void complete_groups() {
    for (TracedGroup& group : trace_.groups) {
      const auto known = configured_.find(group.name);
      if (known != configured_.end()) {
        const bool fits = group.size == 0 || group.size == std::ssize(known->second.ranks);
        if (group.ranks.empty() && fits) group.ranks = known->second.ranks;
        if (group.words.empty()) group.words = known->second.words;
        if (group.size == 0) group.size = known->second.size;
      }
      if (group.name.empty() && group.ranks.empty() && group.size == 0) group.size = trace_.world;
      if (group.ranks.empty() && group.size > 0 && group.size == trace_.world) {
        group.ranks.resize(static_cast<std::size_t>(group.size));
        std::iota(group.ranks.begin(), group.ranks.end(), 0);
      }
      if (!group.ranks.empty()) group.size = static_cast<int>(group.ranks.size());
    }
  }

  void from_start() {
    if (trace_.steps.empty()) trace_.steps = std::move(passes_);
    const auto move = [&](Span& span) { span.from -= first_, span.to -= first_; };
    const auto later = [&](std::int64_t& launched) { launched = launched < 0 ? -1 : std::max<std::int64_t>(0, launched - first_); };
    for (TracedCall& call : trace_.calls) move(call.span), later(call.launched);
    for (TracedKernel& kernel : trace_.kernels) move(kernel.span), later(kernel.launched);
    for (std::vector<Span>* spans : {&trace_.compute, &trace_.busy, &trace_.steps})
      for (Span& span : *spans) move(span);
    move(trace_.whole);
    trace_.start = base_ + first_;
  }

  JsonPieces json_;
  RankTrace trace_;
  kineto::Events kept_;
  std::vector<Span> passes_;  ///< of an engine
  std::map<std::string, TracedGroup> configured_;
  GroupPlaces places_;
  std::int64_t base_ = 0, events_ = 0;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max(), last_ = std::numeric_limits<std::int64_t>::min();
  SpanUnion compute_, busy_;  ///< busy_: copies alone until the end
  bool keep_;
  std::map<std::string, Work, std::less<>> works_;
};

}  // namespace
}  // namespace kineto

bool may_be_kineto(std::string_view head) {
  if (!begins_json(head)) return false;
  for (const char* word : {"\"traceEvents\"", "\"deviceProperties\"", "\"schemaVersion\"", "\"ph\""})
    if (head.find(word) != std::string_view::npos) return true;
  return false;
}

RankTrace read_kineto(const std::filesystem::path& file, Keep keep) { return kineto::Reader(file, keep).run(); }

}  // namespace fabricost::observe
