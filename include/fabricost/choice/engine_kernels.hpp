#pragma once
/// Which all-reduce kernel an inference engine runs at which size, and the size from which it hands over to
/// NCCL: data/engines, by version, GPU and ranks, each with its source.
///
///   vLLM, SGLang to 0.5.12   read peers' memory: one shot, then two; over PCIe on 2 ranks alone
///   vLLM from 0.19           Hopper, Blackwell: torch's symmetric memory from a size of its own to another, multicast in the switch where
///                            it pays
///   SGLang from 0.5.14       writes to its peers' memory
///   TensorRT-LLM             data that are their own flags
///   FlashInfer               the same for few bytes, the switch's multicast for more, also across the nodes of a domain
///   torch_symmetric          PyTorch's own call on symmetric memory, whoever makes it
///   Nodes of one NVLink      vLLM, and SGLang before 0.5.15, leave all-reduces across them to NCCL
///   domain
///   AMD                      vLLM's and SGLang's kernels read peers' memory there too, aiter's and so SGLang's from 0.5.6 write to it

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/protocol.hpp>

#include <array>
#include <optional>
#include <string_view>

#include <fabricost/choice/shipped_engine_names.inc>

namespace fabricost::core {

[[nodiscard]] constexpr std::string_view name(InferenceLibrary l) { return inference_library_names[static_cast<std::size_t>(l)]; }

/// A library of data/engines, the name of its file, or what tables call it: `trtllm` or `tensorrt-llm`.
[[nodiscard]] std::optional<InferenceLibrary> parse_inference_library(std::string_view text);

/// A kernel of an engine by the name that tables of measurements give it (`kernels:` of data/engines): "1-stage".
[[nodiscard]] std::optional<CollectiveKernel> kernel_of_engine(InferenceLibrary library, std::string_view text);

/// The engine that calls a collective. Version as in version_number; 0: the newest known.
struct Inference {
  InferenceLibrary library = InferenceLibrary::none;
  int version = 0;         ///< of the engine, or without one of NCCL or RCCL: version_number; 0: not stated
  bool rccl = false;       ///< without an engine: RCCL is named, not NCCL
  bool from_host = false;  ///< called from Python, not replayed in a CUDA graph
};

/// "0.5.14" as 5014, "1.3.0rc10" as 1003000; 0 if it is not a version.
[[nodiscard]] int version_number(std::string_view text);

/// Whether an engine has kernels, at any version and number of ranks, for GPUs that this library joins.
[[nodiscard]] bool has_kernels_with(InferenceLibrary engine, Library library);

/// The kernels of an engine in order of size: each up to, not including, `until`; NCCL beyond the last.
struct ReducePieces {
  struct Piece {
    CollectiveKernel kernel = CollectiveKernel::library;
    double until = 0;
  };
  static constexpr int capacity = 4;
  int count = 0;
  std::array<Piece, capacity> items{};
  void add(CollectiveKernel kernel, double until) {
    const double from = count > 0 ? items[static_cast<std::size_t>(count - 1)].until : 0;
    if (until > from) items[static_cast<std::size_t>(count++)] = {kernel, until};
  }
  [[nodiscard]] const Piece* begin() const { return items.data(); }
  [[nodiscard]] const Piece* end() const { return items.data() + count; }
  [[nodiscard]] CollectiveKernel at(double bytes) const;
};

/// The kernel for experts of an engine of data/engines; empty: it has none of its own.
[[nodiscard]] std::string_view experts_of_engine(std::string_view engine);

/// \param ultra Blackwell Ultra (compute capability 10.3)
[[nodiscard]] ReducePieces reduce_pieces(const Inference& i, const Fabric& f, bool ultra);

/// A kernel's name in terms of NCCL's pairs.
[[nodiscard]] constexpr Candidate candidate_of(CollectiveKernel kernel) {
  switch (kernel) {
    case CollectiveKernel::pull_one_shot:
    case CollectiveKernel::push_one_shot: return {Algorithm::one_shot, Protocol::simple, kernel};
    case CollectiveKernel::lamport_one_shot: return {Algorithm::one_shot, Protocol::ll, kernel};
    case CollectiveKernel::lamport_two_shot: return {Algorithm::two_shot, Protocol::ll, kernel};
    case CollectiveKernel::multicast: return {Algorithm::nvls, Protocol::simple, kernel};
    case CollectiveKernel::scattered_multicast: return {Algorithm::two_shot, Protocol::ll, kernel};
    case CollectiveKernel::window_one_shot: return {Algorithm::one_shot, Protocol::simple, kernel};
    case CollectiveKernel::window_exchange: return {Algorithm::direct, Protocol::simple, kernel};
    case CollectiveKernel::window_flags: return {Algorithm::direct, Protocol::ll, kernel};
    case CollectiveKernel::any_buffer: return {Algorithm::one_shot, Protocol::ll, kernel};
    case CollectiveKernel::copy_engine:
    case CollectiveKernel::copy_engine_multicast: return {Algorithm::direct, Protocol::simple, kernel};
    default: return {Algorithm::two_shot, Protocol::simple, kernel};
  }
}

}  // namespace fabricost::core

namespace fabricost {
using core::InferenceLibrary;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/choice/engine_kernels-inl.hpp>
#endif
