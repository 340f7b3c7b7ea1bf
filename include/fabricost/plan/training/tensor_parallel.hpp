#pragma once
/// The messages of tensor parallelism, per layer and per microbatch.
///
/// A block is a column-parallel product followed by a row-parallel one (attention and its output; the two of
/// the feed-forward). Only the second leaves partial sums, so a layer has two all-reduces forward, after the
/// attention output and after the feed-forward's second matrix, and two backward, for the gradients of the
/// blocks' inputs (Shoeybi et al. 2019, arXiv 1909.08053, section 3). Each moves
///
///   S = tokens x h x bytes,      tokens = microbatch x sequence / context ranks
///
/// With sequence parallelism each becomes an all-gather before and a reduce-scatter after the block, the same
/// bytes on a ring; backward gathers the sharded input of each block again (Korthikanti et al. 2022, arXiv
/// 2205.05198, section 4.2.2). Full recompute repeats the forward's. Whole experts need no messages here: each rank sends the tokens
/// that it holds. Without sequence parallelism it takes its share of them and gathers the others' results. Experts split over t_e ranks
/// gather the k copies of every token and keep them (Megatron-Core, moe/token_dispatcher.py), and shared experts are one more block.

#include <fabricost/collective.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/plan/model/model.hpp>

#include <array>
#include <string_view>

namespace fabricost::plan {

/// `count` collectives of `bytes` each, in the size convention of nccl-tests.
struct TensorMessage {
  std::string_view name;
  Collective collective = Collective::all_reduce;
  double count = 0;
  double bytes = 0;
};

/// A fixed-capacity list, so that pricing a layout never allocates.
class TensorMessages {
 public:
  static constexpr int capacity = 12;
  /// Messages with a count or size of zero are omitted.
  void add(std::string_view name, Collective collective, double count, double bytes) {
    if (count > 0 && bytes > 0) items_[static_cast<std::size_t>(count_++)] = {name, collective, count, bytes};
  }
  [[nodiscard]] const TensorMessage* begin() const { return items_.data(); }
  [[nodiscard]] const TensorMessage* end() const { return items_.data() + count_; }
  [[nodiscard]] int size() const { return count_; }
  /// Number of messages of one collective.
  [[nodiscard]] double count(Collective collective) const;
  /// The size of its messages: the largest one.
  [[nodiscard]] double bytes(Collective collective) const;

 private:
  int count_ = 0;
  std::array<TensorMessage, capacity> items_{};
};

/// The parts of a layer: a block that mixes tokens, a feed-forward block, experts in it.
struct LayerParts {
  bool mixing = true, feed = true, experts = false;
  /// The share of a layer with both blocks that these parts are.
  [[nodiscard]] double share() const { return (mixing + feed) / 2.0; }
};

/// The parts of a job that determine its tensor-parallel messages.
struct TensorQuestion {
  int ranks = 1;                ///< t
  int expert_ranks = 1;         ///< tensor ranks of one expert
  double tokens = 0;            ///< of one microbatch on one rank before tensor parallelism; the batch when decoding
  double bytes_per_number = 2;  ///< of activations on the wire
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
};

namespace detail {

/// The sum at the end of a block: an all-reduce, or its two halves.
void add_block(TensorMessages& out, const TensorQuestion& q, std::string_view all_reduce, std::string_view gather,
               std::string_view scatter, double count, double bytes);

}  // namespace detail

/// S, the bytes of one all-reduce of a layer. 70B (h 8192), one 16-bit token: 16,384 bytes.
[[nodiscard]] double tensor_message_bytes(const Model& m, const TensorQuestion& q);

/// Forward of one layer; empty for one rank.
[[nodiscard]] TensorMessages tensor_forward(const Model& m, const TensorQuestion& q, LayerParts parts = {});

/// Backward of one layer, including the repeated forward with full recomputation.
[[nodiscard]] TensorMessages tensor_backward(const Model& m, const TensorQuestion& q, LayerParts parts = {});

/// Experts split over t_e = q.expert_ranks ranks, in training, one layer forward: the rows that dispatch
/// brought to each, T k / t, are gathered before the experts' products and summed after them. To be priced by
/// the curve of a group of t_e ranks. Empty for whole experts.
[[nodiscard]] TensorMessages expert_tensor_forward(const Model& m, const TensorQuestion& q);
/// The same backward: the reversed pair, and the forward again if recomputed. The gathered rows are kept.
[[nodiscard]] TensorMessages expert_tensor_backward(const Model& m, const TensorQuestion& q);

}  // namespace fabricost::plan
