#pragma once
/// \file specs.hpp
/// The shipped specs and the few numbers of published models that the tables start from, each read once; and the small text
/// helpers that put them into a row's arithmetic.

#include "tables.hpp"

#include <fabricost/fabricost.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/training/tensor_parallel.hpp>

#include <string>
#include <string_view>

namespace seed_tables {

/// A system or cluster of data/, loaded once.
[[nodiscard]] const fabricost::core::System& machine(std::string_view name);
/// The same with GPUs that write into each other's memory over PCIe rather than stage in the host's.
[[nodiscard]] const fabricost::core::System& peer_to_peer(std::string_view name);
[[nodiscard]] const fabricost::core::Gpu& gpu(std::string_view name);
[[nodiscard]] const fabricost::core::Link& link(std::string_view name);

/// One way, of a tier that must exist. \throws std::out_of_range naming both
[[nodiscard]] const fabricost::core::Tier& tier(const fabricost::core::System& system, fabricost::core::TierRole role);
[[nodiscard]] double gigabytes_per_second(const fabricost::core::System& system, fabricost::core::TierRole role);

[[nodiscard]] double GBps(fabricost::core::Bandwidth bandwidth);  ///< as a count of GB/s
[[nodiscard]] double Gbps(fabricost::core::LineRate rate);        ///< as a count of Gbit/s
[[nodiscard]] double gigabytes(fabricost::core::Bytes bytes);     ///< as a count of GB
[[nodiscard]] double microseconds(fabricost::core::Time time);    ///< as a count of us

/// Lanes x lane rate / 8: a link before encoding, GB/s one way.
[[nodiscard]] double raw_rate(const fabricost::core::Link& link);

/// Three significant digits, thousands grouped, no zeros after a whole number; or the requested decimals.
[[nodiscard]] std::string text(double value, int decimals = -1);

/// "launch 4.72 + serial steps 11.48 + wire 5.94 us": the terms of a prediction, in the unit given.
[[nodiscard]] std::string sum_text(const fabricost::core::Prediction& prediction, double unit, std::string_view unit_name);
/// "ring under LL, calibrated"
[[nodiscard]] std::string ran_text(const fabricost::core::Prediction& prediction);
/// Percent of the time that is neither wire nor local copies. (all_reduce.cpp)
[[nodiscard]] double latency_share(const fabricost::core::Prediction& prediction);
/// The time as a figure with its interval.
[[nodiscard]] Figure time_figure(const fabricost::core::Prediction& prediction, double unit, std::string unit_name);

/// Published shapes of models, with the round numbers of parameters the texts calculate with.
struct Model {
  fabricost::plan::Model shape;
  double parameters = 0;
  int layers = 0, hidden = 0;
  int kv_heads = 0, head_size = 0;
  double layer_parameters = 0;  ///< of one layer, embeddings left out; 0: not needed here
};
[[nodiscard]] const Model& llama_70b();
[[nodiscard]] const Model& llama_405b();
inline constexpr double half_precision = 2;  ///< bytes of an FP16 or BF16 number
/// The request for `tokens` tokens under tensor parallelism over `ranks` GPUs, in 16 bit.
[[nodiscard]] fabricost::plan::TensorQuestion tensor_question(double tokens, int ranks, bool sequence_parallel = false);
/// Bytes of the activations of `tokens` tokens, which tensor parallelism all-reduces twice a layer.
[[nodiscard]] double activation_bytes(const Model& model, double tokens);

}  // namespace seed_tables
