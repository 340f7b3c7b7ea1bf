#pragma once
/// The content of a rank's trace, whatever profiler wrote it: its collective calls, when its GPU computed, its process groups. Times are
/// nanoseconds from its first event on the GPU, on the rank's own clock.

#include <fabricost/collective.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace fabricost::observe {

/// The operation of a communication kernel. The first seven are those of Collective.
enum class Moves : unsigned char {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send_recv,
  gather,
  scatter,
  barrier,
  moe_dispatch,
  moe_combine,
  moe_layout,
  unknown
};
inline constexpr std::array<std::string_view, 14> moves_names{"all_reduce",   "all_gather",  "reduce_scatter", "broadcast", "reduce",
                                                              "all_to_all",   "send_recv",   "gather",         "scatter",   "barrier",
                                                              "moe_dispatch", "moe_combine", "moe_layout",     "unknown"};
[[nodiscard]] constexpr std::string_view name(Moves moves) { return moves_names[static_cast<std::size_t>(moves)]; }
/// The collective that `predict` prices; nothing for the others.
[[nodiscard]] constexpr std::optional<Collective> collective_of(Moves moves) {
  return moves <= Moves::send_recv ? std::optional{static_cast<Collective>(moves)} : std::nullopt;
}

/// An element type as traces name it.
struct TracedType {
  std::string_view name;  ///< empty: not said
  unsigned width = 0;     ///< bytes
};

/// An interval of time, ns.
struct Span {
  std::int64_t from = 0, to = 0;
  [[nodiscard]] std::int64_t length() const { return to - from; }
};

struct TracedGroup {
  std::string name, words;  ///< "3", "default_pg"
  std::vector<int> ranks;   ///< ascending; empty: not said
  int size = 0;             ///< 0: not said
  std::string id{};         ///< that no other group of the job has, as a communicator's hash; empty: not said
  int own = -1;             ///< the traced rank's number in it; -1: not said
  int nodes = 0;            ///< that it spans; 0: not said
  bool operator<(const TracedGroup& other) const {
    return std::tie(id, name, size, ranks, words) < std::tie(other.id, other.name, other.size, other.ranks, other.words);
  }
};

/// The limit of a kernel that computes: products run at the GPU's arithmetic rate of 16-bit or 8-bit numbers, attention at its own (that
/// of FlashAttention-2 and Triton at another), memory at that of its memory, a host_copy at that of the link to the host.
enum class Work : unsigned char { product, product_8, attention, attention_old, memory, host_copy, unknown };
inline constexpr std::array<std::string_view, 7> work_names{
    "matrix products",      "8-bit matrix products",       "attention",    "older attention kernels",
    "memory-bound kernels", "copies to and from the host", "other kernels"};

/// A kernel that computes, or a copy.
struct TracedKernel {
  Span span{};
  std::int64_t launched = -1;  ///< by the host, on the same clock; negative: not said. Until they are joined, its correlation
  int stream = 0;
  Work work = Work::unknown;
  bool copy = false;  ///< of the copy engines
};

/// The known part of a call's time.
enum class Timing : unsigned char {
  placed,  ///< when it began and ended
  length,  ///< how long it took; its span ends about when it did
  none     ///< nothing; its span says its place in the order
};

struct TracedCall {
  Span span{};
  std::int64_t launched = -1;  ///< as of a kernel; said only where kernels are kept
  double bytes = -1;           ///< in the convention of Operation; negative: not said
  std::int64_t sequence = -1;  ///< in its group; negative: not said
  std::uint32_t group = 0;     ///< of RankTrace::groups
  int peer = -1;               ///< the other rank of a send or receive
  int stream = 0;
  int messages = 1;  ///< calls of the program that this one carries out: more than one where they were coalesced
  int repeats = 1;   ///< calls that it stands for, in tables
  Moves moves = Moves::unknown;
  TracedType type{};
  Timing timing = Timing::placed;
  bool of_one_rank = false;      ///< `bytes` are one rank's part: of a gather, scatter or exchange, one in `size` of the whole
  bool without_waiting = false;  ///< what ranks waited is not in its time
};

/// Forward passes of an inference engine, as it marked them; a pass of prompts may decode as well.
struct EnginePasses {
  std::int64_t with_prompts = 0, prompt_tokens = 0;
  std::int64_t decoding = 0, requests = 0;    ///< passes that only decode, and their requests
  std::int64_t attending = 0, context = 0;    ///< those of the requests whose tokens of context are said, and these tokens
};

struct RankTrace {
  std::string file, gpu, library;
  int rank = -1, world = 0;
  std::string process{};      ///< "host:pid"; empty: not said. Several files may be of one
  bool shows_compute = true;  ///< kernels that compute are in it
  std::vector<TracedGroup> groups;
  std::vector<TracedCall> calls;  ///< by start
  std::vector<Span> compute;      ///< when any kernel but those of communication ran: apart, ascending
  std::vector<Span> busy;         ///< the same with copies
  std::vector<TracedKernel> kernels;  ///< each of them; empty unless the reader was asked to keep them (Keep::kernels)
  std::vector<Span> steps;        ///< on the host's clock
  EnginePasses passes{};
  Span whole{};                   ///< first start to last end on the GPU
  std::int64_t between = 0;       ///< of it, between files of the same rank: nothing was traced then
  std::int64_t start = 0;         ///< when its times are zero, ns since 1970 on that clock; any number where the profiler says none
  std::map<std::string, std::int64_t> skipped;  ///< events that were left out, by reason

  /// How long it was traced.
  [[nodiscard]] std::int64_t window() const { return whole.length() - between; }
};

/// The events that a reader keeps of a trace: calls, or also kernels that compute, which takes memory for each.
enum class Keep : unsigned char { calls, kernels };

/// Joins spans that touch and sorts them.
void unite(std::vector<Span>& spans);

/// Spans that come in order, or nearly so, kept as their union: in bounded memory where they touch.
class SpanUnion {
 public:
  void add(const Span& span);
  [[nodiscard]] std::vector<Span> take();

 private:
  std::vector<Span> spans_;
  std::size_t united_ = 0;
};

/// The operation that PyTorch's "allreduce", "_allgather_base", "nccl:all_to_all" or Inspector's "AllReduce" names.
[[nodiscard]] Moves moves_named(std::string_view words);
/// The operation that a kernel is named after ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"); empty: it computes; unknown: it communicates.
[[nodiscard]] std::optional<Moves> moves_of_kernel(std::string_view kernel);
/// The limit of a kernel that computes, by its name.
[[nodiscard]] Work work_of_kernel(std::string_view kernel);
/// The same for "Memcpy HtoD (Pinned -> Device)".
[[nodiscard]] Work work_of_copy(std::string_view name);
/// Elements that went in and out of a call, as PyTorch counts them; negative: not said.
struct Elements {
  std::int64_t in = -1, out = -1;
};
/// Adds the forward pass that an annotation marks. \return false if it marks none
[[nodiscard]] bool add_pass(std::string_view annotation, EnginePasses& passes);
/// Bytes in the convention of Operation; negative: not known.
[[nodiscard]] double bytes_of_call(Moves moves, const Elements& elements, unsigned width, int ranks);
/// "BFloat16", "c10::Half", "long int", "Float8_e4m3fn", "ncclInt8", ...
[[nodiscard]] TracedType type_named(std::string_view words);

}  // namespace fabricost::observe
