#pragma once
/// \file inference.hpp
/// Which all-reduce kernel an inference engine runs at which size, and from where on it hands over to NCCL.
///
///   vLLM, SGLang to 0.5.12   read peers' memory: one shot on 2 ranks, below 512 KiB on 4, below 256 KiB on 6 and 8, else two shots; up to
///                            8 MiB (vLLM) or 16 MiB (SGLang), not included. Over PCIe on 2 ranks alone.
///                            vllm-project/vllm: csrc/custom_all_reduce.cuh, vllm/distributed/device_communicators/custom_all_reduce.py;
///                            sgl-project/sglang: python/sglang/srt/distributed/device_communicators/custom_all_reduce.py
///   vLLM from 0.19           Hopper, Blackwell: torch's symmetric memory from a size of its own to another, multicast in the switch where
///                            it pays. vllm: .../all_reduce_utils.py, symm_mem.py. Version 0.14 was measured without it on H100.
///   SGLang from 0.5.14       push for one shot, up to 16 MiB. sglang: .../custom_all_reduce_v2.py
///   Nodes of one NVLink      vLLM before 0.27 and SGLang before 0.5.15 leave all-reduces across them to NCCL (vllm-project/vllm issue
///   domain                   52778, pull request 53253; sgl-project/sglang pull request 32339).
///   TensorRT-LLM             data that are their own flags; two shots from a number of elements on, and nothing beyond 16 MB (2 ranks) or
///                            8 MB. From 1.3 a table takes over, on Blackwell to 16 MiB on 4 ranks and 32 MiB on 8 (tokens of 4096
///                            numbers). NVIDIA/TensorRT-LLM: cpp/tensorrt_llm/common/customAllReduceUtils.h. Before Hopper one shot alone,
///                            to 1 MiB (512 KiB on 8 ranks): read off version 1.0 on A100.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/protocol.hpp>

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

/// The engine a collective is called from. Version as version_number has it; 0: the newest known here.
struct Inference {
  InferenceLibrary library = InferenceLibrary::none;
  int version = 0;
  bool from_host = false;  ///< called from Python, not replayed in a CUDA graph
};

/// "0.5.14" as 5014, "1.3.0rc10" as 1003000; 0 for what is none.
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

/// The kernels of an engine in the order of sizes: each up to, not including, `until`; NCCL beyond the last.
struct ReducePieces {
  struct Piece {
    ReduceKernel kernel = ReduceKernel::library;
    double until = 0;
  };
  int count = 0;
  std::array<Piece, 4> items{};
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

[[nodiscard]] inline double including(double bytes) { return std::nextafter(bytes, 2 * bytes); }

/// By ranks 2, 4, 6, 8; -1 for others.
[[nodiscard]] inline int pairs_of(const Fabric& f) {
  const int n = static_cast<int>(f.ranks());
  return n >= 2 && n <= 8 && n % 2 == 0 ? n / 2 - 1 : -1;
}
using BySize = std::array<double, 4>;

inline void add_pull(ReducePieces& out, const Fabric& f, double limit) {
  const auto n = static_cast<int>(f.ranks());
  out.add(ReduceKernel::pull_one_shot, std::min(limit, n <= 2 ? limit : n <= 4 ? 512 * kibibyte : 256 * kibibyte));
  out.add(ReduceKernel::pull_two_shot, limit);
}

[[nodiscard]] inline ReducePieces vllm_pieces(const Inference& i, const Fabric& f, bool ultra) {
  ReducePieces out;
  const int at = pairs_of(f);
  const bool hopper = f.generation == Generation::hopper, blackwell = f.generation == Generation::blackwell;
  const bool symmetric = f.in_switch && (hopper || blackwell) && (i.version == 0 || i.version >= 19000);
  if (!symmetric) {
    add_pull(out, f, 8 * mebibyte);
    return out;
  }
  // MiB: where custom kernels end, where symmetric memory does; compute capability 9.0, 10.0, 10.3
  constexpr std::array<BySize, 3> custom{{{8, 8, 0.5, 0.25}, {2, 2, 1, 1}, {4, 4, 8, 4}}};
  constexpr std::array<BySize, 3> limit{{{64, 32, 64, 64}, {8, 32, 128, 128}, {4, 32, 32, 64}}};
  const std::size_t row = hopper ? 0 : ultra ? 2 : 1, column = static_cast<std::size_t>(at);
  add_pull(out, f, custom[row][column] * mebibyte);
  const bool multicast = at >= (hopper ? 1 : 2);
  const double until = limit[row][column] * mebibyte;
  // 0.19 was measured to stop below the limit, 0.24 at it
  out.add(multicast ? ReduceKernel::multicast : ReduceKernel::symmetric_two_shot,
          i.version == 0 || i.version >= 20000 ? including(until) : until);
  return out;
}

/// Before 0.5.13, and over PCIe. (0.5.10 was measured to pull, 0.5.14 to push; which of them the versions between do is assumed.)
[[nodiscard]] inline bool sglang_pulls(const Inference& i, const Fabric& f) { return f.over_pcie || (i.version != 0 && i.version < 5013); }

[[nodiscard]] inline ReducePieces sglang_pieces(const Inference& i, const Fabric& f) {
  ReducePieces out;
  if (sglang_pulls(i, f)) {
    add_pull(out, f, 16 * mebibyte);
    return out;
  }
  constexpr std::array<double, 7> tuned_h200{16384, 512, 384, 256, 192, 192, 160};  // KiB of one shot on 2 to 8 ranks
  constexpr std::array<double, 7> tuned_b200{16384, 4096, 2048, 2048, 1024, 896, 720};
  const auto column = static_cast<std::size_t>(f.ranks()) - 2;
  out.add(ReduceKernel::push_one_shot, including((f.generation == Generation::blackwell ? tuned_b200 : tuned_h200)[column] * kibibyte));
  out.add(ReduceKernel::push_two_shot, including(16 * mebibyte));
  return out;
}

[[nodiscard]] inline ReducePieces trtllm_pieces(const Inference& i, const Fabric& f) {
  ReducePieces out;
  const auto n = static_cast<int>(f.ranks());
  if (f.over_pcie || (n != 2 && n != 4 && n != 8)) return out;
  if (f.generation != Generation::hopper && f.generation != Generation::blackwell) {
    out.add(ReduceKernel::lamport_one_shot, n == 8 ? including(512 * kibibyte) : including(mebibyte));
    return out;
  }
  const bool blackwell = f.generation == Generation::blackwell;
  const bool by_table = blackwell && n > 2 && (i.version == 0 || i.version >= 1003000);
  const double workspace = by_table ? including((n == 4 ? 16 : 32) * mebibyte) : n == 2 ? 16e6 : 8e6;
  const double two_shots = n == 2 ? 32 * mebibyte : n == 4 ? (blackwell ? 4 : 2) * mebibyte : (blackwell ? 2 : 0.5) * mebibyte;
  out.add(ReduceKernel::lamport_one_shot, std::min(two_shots, including(workspace)));
  out.add(ReduceKernel::lamport_two_shot, including(workspace));
  return out;
}

}  // namespace detail

/// \param ultra Blackwell Ultra (compute capability 10.3)
[[nodiscard]] inline ReducePieces reduce_pieces(const Inference& i, const Fabric& f, bool ultra) {
  const auto n = static_cast<int>(f.ranks());
  if (i.library == InferenceLibrary::none || f.domains() > 1 || n < 2 || n > 8 || f.library != Library::nccl) return {};
  if (f.over_pcie && n > 2) return {};
  const int across_nodes_from = i.library == InferenceLibrary::vllm ? 27000 : i.library == InferenceLibrary::sglang ? 5015 : 0;
  if (f.nodes > 1 && i.version != 0 && i.version < across_nodes_from) return {};
  if (i.library == InferenceLibrary::trtllm) return detail::trtllm_pieces(i, f);
  // kernels that read their peers' memory were built for 2, 4, 6 and 8 ranks, those that push for every number
  if (i.library == InferenceLibrary::sglang)
    return n % 2 == 0 || !detail::sglang_pulls(i, f) ? detail::sglang_pieces(i, f) : ReducePieces{};
  return n % 2 == 0 ? detail::vllm_pieces(i, f, ultra) : ReducePieces{};
}

/// What a kernel is called beside NCCL's pairs.
[[nodiscard]] constexpr Candidate candidate_of(ReduceKernel kernel) {
  switch (kernel) {
    case ReduceKernel::pull_one_shot:
    case ReduceKernel::push_one_shot: return {Algorithm::one_shot, Protocol::simple, kernel};
    case ReduceKernel::lamport_one_shot: return {Algorithm::one_shot, Protocol::ll, kernel};
    case ReduceKernel::lamport_two_shot: return {Algorithm::two_shot, Protocol::ll, kernel};
    case ReduceKernel::multicast: return {Algorithm::nvls, Protocol::simple, kernel};
    default: return {Algorithm::two_shot, Protocol::simple, kernel};
  }
}

}  // namespace fabricost
