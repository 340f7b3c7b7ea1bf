#pragma once
/// \file inference.hpp
/// Which all-reduce kernel an inference engine runs at which size, and the size from which it hands over to
/// NCCL: data/engines, by version, GPU and ranks, each with its source.
///
///   vLLM, SGLang to 0.5.12   read peers' memory: one shot, then two; over PCIe on 2 ranks alone
///   vLLM from 0.19           Hopper, Blackwell: torch's symmetric memory from a size of its own to another, multicast in the switch where
///                            it pays
///   SGLang from 0.5.14       writes to its peers' memory
///   TensorRT-LLM             data that are their own flags
///   Nodes of one NVLink      vLLM before 0.27 and SGLang before 0.5.15 leave all-reduces across them to NCCL
///   domain

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/protocol.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace fabricost {

enum class InferenceLibrary : unsigned char { none, vllm, sglang, trtllm };
inline constexpr std::array<std::string_view, 4> inference_library_names{"none", "vllm", "sglang", "trtllm"};
[[nodiscard]] constexpr std::string_view name(InferenceLibrary l) { return inference_library_names[static_cast<std::size_t>(l)]; }

/// `vllm`, `sglang`, `trtllm` or `tensorrt-llm`.
[[nodiscard]] inline std::optional<InferenceLibrary> parse_inference_library(std::string_view text) {
  if (detail::folded(text) == "tensorrtllm") return InferenceLibrary::trtllm;
  const auto found = detail::parse_enum<InferenceLibrary>(text, inference_library_names);
  return found == InferenceLibrary::none ? std::nullopt : found;
}

/// The engine that calls a collective. Version as in version_number; 0: the newest known.
struct Inference {
  InferenceLibrary library = InferenceLibrary::none;
  int version = 0;
  bool from_host = false;  ///< called from Python, not replayed in a CUDA graph
};

/// "0.5.14" as 5014, "1.3.0rc10" as 1003000; 0 if it is not a version.
[[nodiscard]] inline int version_number(std::string_view text) {
  int out = 0, parts = 0;
  const char *at = text.data(), *end = at + text.size();
  for (; parts < 3; ++parts) {
    int part = 0;
    const auto [stopped, fault] = std::from_chars(at, end, part);
    if (fault != std::errc{} || part < 0 || part > 999) break;
    out = out * 1000 + part;
    at = stopped;
    if (at == end || *at != '.') {
      ++parts;
      break;
    }
    ++at;
  }
  for (int i = parts; parts > 0 && i < 3; ++i) out *= 1000;
  return out;
}

/// The kernels of an engine in order of size: each up to, not including, `until`; NCCL beyond the last.
struct ReducePieces {
  struct Piece {
    ReduceKernel kernel = ReduceKernel::library;
    double until = 0;
  };
  static constexpr int capacity = 4;
  int count = 0;
  std::array<Piece, capacity> items{};
  void add(ReduceKernel kernel, double until) {
    const double from = count > 0 ? items[static_cast<std::size_t>(count - 1)].until : 0;
    if (until > from) items[static_cast<std::size_t>(count++)] = {kernel, until};
  }
  [[nodiscard]] const Piece* begin() const { return items.data(); }
  [[nodiscard]] const Piece* end() const { return items.data() + count; }
  [[nodiscard]] ReduceKernel at(double bytes) const {
    for (const Piece& p : *this)
      if (bytes < p.until) return p.kernel;
    return ReduceKernel::library;
  }
};

namespace detail {

inline constexpr std::size_t max_engine_ranks = 8;
using ByRanks = std::array<double, max_engine_ranks - 1>;  ///< from 2 ranks on; 0: not there

/// Conditions on the version and the machine.
struct HandOverCondition {
  int from = 0, before = std::numeric_limits<int>::max();  ///< versions
  Generation generation = Generation::other;               ///< other: any
  bool ultra = false, in_switch = false, pcie = false;     ///< true: must hold
};
/// Sizes up to which each kernel runs, smaller sizes first.
struct HandOver {
  struct Kernel {
    ReduceKernel kernel = ReduceKernel::library;
    ByRanks below{}, to{};  ///< exclusive, inclusive
  };
  HandOverCondition when{};
  Kernel kernels[4]{};
};
struct EngineTable {
  InferenceLibrary library = InferenceLibrary::none;
  int pcie_ranks = 0;         ///< maximum ranks over PCIe
  int across_nodes_from = 0;  ///< version from which kernels run across the nodes of a domain
  int rules = 0;
  HandOver hand_over[8]{};  ///< the first whose condition holds
};

[[nodiscard]] inline bool holds(const HandOverCondition& c, const Inference& i, const Fabric& f, bool ultra) {
  const int version = i.version == 0 ? std::numeric_limits<int>::max() - 1 : i.version;
  return version >= c.from && version < c.before && (c.generation == Generation::other || c.generation == f.generation) &&
         (ultra || !c.ultra) && (f.in_switch || !c.in_switch) && (f.over_pcie || !c.pcie);
}

}  // namespace detail

}  // namespace fabricost

#include <fabricost/choice/shipped_engines.inc>

namespace fabricost {

/// \param ultra Blackwell Ultra (compute capability 10.3)
[[nodiscard]] inline ReducePieces reduce_pieces(const Inference& i, const Fabric& f, bool ultra) {
  const auto n = static_cast<std::size_t>(f.ranks());
  ReducePieces out;
  if (i.library == InferenceLibrary::none || f.domains() > 1 || n < 2 || n > detail::max_engine_ranks || f.library != Library::nccl)
    return out;
  for (const detail::EngineTable& engine : detail::engine_tables) {
    if (engine.library != i.library) continue;
    if (f.over_pcie && static_cast<int>(n) > engine.pcie_ranks) return out;
    if (f.nodes > 1 && i.version != 0 && i.version < engine.across_nodes_from) return out;
    const auto* const end = engine.hand_over + engine.rules;
    const auto* const rule = std::find_if(engine.hand_over, end, [&](const auto& one) { return detail::holds(one.when, i, f, ultra); });
    if (rule == end) return out;
    for (const auto& [kernel, below, to] : rule->kernels) {
      if (below[n - 2] > 0) out.add(kernel, below[n - 2]);
      if (to[n - 2] > 0) out.add(kernel, std::nextafter(to[n - 2], 2 * to[n - 2]));
    }
  }
  return out;
}

/// A kernel's name in terms of NCCL's pairs.
[[nodiscard]] constexpr Candidate candidate_of(ReduceKernel kernel) {
  switch (kernel) {
    case ReduceKernel::pull_one_shot:
    case ReduceKernel::push_one_shot: return {Algorithm::one_shot, Protocol::simple, kernel};
    case ReduceKernel::lamport_one_shot: return {Algorithm::one_shot, Protocol::ll, kernel};
    case ReduceKernel::lamport_two_shot: return {Algorithm::two_shot, Protocol::ll, kernel};
    case ReduceKernel::multicast: return {Algorithm::nvls, Protocol::simple, kernel};
    case ReduceKernel::window_one_shot: return {Algorithm::one_shot, Protocol::simple, kernel};
    case ReduceKernel::window_exchange: return {Algorithm::direct, Protocol::simple, kernel};
    case ReduceKernel::window_flags: return {Algorithm::direct, Protocol::ll, kernel};
    case ReduceKernel::any_buffer: return {Algorithm::one_shot, Protocol::ll, kernel};
    case ReduceKernel::copy_engine:
    case ReduceKernel::copy_engine_multicast: return {Algorithm::direct, Protocol::simple, kernel};
    default: return {Algorithm::two_shot, Protocol::simple, kernel};
  }
}

}  // namespace fabricost
