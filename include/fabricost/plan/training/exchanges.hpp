#pragma once
/// \file exchanges.hpp
/// The collectives of a training step, as they are priced and as an explanation lists them. A group is the ranks that exchange one
/// kind of data: tensor ranks inside a layer, context ranks its keys and values, expert ranks its tokens, data ranks gradients and weights.

#include <fabricost/fixed_list.hpp>
#include <fabricost/plan/kernels/groups.hpp>

#include <array>
#include <string_view>

namespace fabricost::plan {

enum class StepGroup : unsigned char { tensor, context, expert, stages, data, rows, expert_data };
inline constexpr std::array<std::string_view, 7> step_group_names{"tensor", "context", "expert", "stages", "data", "rows", "expert data"};

/// A collective of one layer.
struct LayerExchange {
  StepGroup group = StepGroup::tensor;
  Collective collective = Collective::all_reduce;
  Placement at;
  double bytes = 0;                  ///< as nccl-tests counts them (operation.hpp); of tokens to experts: bytes that a rank sends
  double seconds = 0;                ///< of one
  double forward = 0, backward = 0;  ///< how many a layer's forward and backward need
  double exposed = 1;                ///< share that nothing hides
  double feed = 0;                   ///< part of `forward`: those of the feed-forward block
  LinkTime least{};                  ///< of one, at the links' full rate
};
using LayerExchanges = FixedList<LayerExchange, 12>;

/// A collective that exchanges gradients or weights.
struct DataExchange {
  StepGroup group = StepGroup::data;
  Collective collective = Collective::all_reduce;
  Placement at;
  double bytes = 0, seconds = 0;
  double each = 0, last = 0;  ///< how many in every microbatch but the last, and in the last
  LinkTime least{};           ///< of one, at the links' full rate
};
using DataExchanges = FixedList<DataExchange, 6>;

}  // namespace fabricost::plan
