#pragma once
/// The kinds of communication, element types and paths, and the factor between algorithm and bus bandwidth.
///
/// algbw = bytes / time; busbw = algbw x bus_factor, which on a ring is the rate of one link for any number
/// of ranks (NVIDIA/nccl-tests, doc/PERFORMANCE.md).

#include <fabricost/namespaces.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fabricost::core {

enum class Collective : unsigned char { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv };
inline constexpr std::array<std::string_view, 7> collective_names{"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                                                  "reduce",     "all_to_all", "send_recv"};
[[nodiscard]] constexpr std::string_view name(Collective c) { return collective_names[static_cast<std::size_t>(c)]; }

/// Element types by width; only the reductions of 8-bit types are priced differently (no in-switch reduction, slower adds).
enum class DataType : unsigned char { int8, half, bfloat16, fp8, single, double_precision };
inline constexpr std::array<std::string_view, 6> data_type_names{"int8", "half", "bfloat16", "fp8", "float", "double"};
[[nodiscard]] constexpr std::string_view name(DataType t) { return data_type_names[static_cast<std::size_t>(t)]; }
inline constexpr std::array<unsigned char, 6> data_type_bytes{1, 2, 2, 1, 4, 8};
[[nodiscard]] constexpr unsigned bytes_of(DataType t) { return data_type_bytes[static_cast<std::size_t>(t)]; }
[[nodiscard]] constexpr bool is_byte_wide(DataType t) { return bytes_of(t) == 1; }

/// How ranks combine values. avg multiplies floating values before it adds them.
enum class Reduction : unsigned char { sum, prod, max, min, avg };
inline constexpr std::array<std::string_view, 5> reduction_names{"sum", "prod", "max", "min", "avg"};
[[nodiscard]] constexpr std::string_view name(Reduction r) { return reduction_names[static_cast<std::size_t>(r)]; }

/// Whether NVSwitches combine values so (NVIDIA/nccl src/include/device.h, ncclNvlsSupported): sums, and maxima and minima of 16 bits;
/// nothing of 8 bits. `single` and `double_precision` stand for floats; of whole numbers NCCL's switches take maxima, too.
[[nodiscard]] constexpr bool combines_in_switch(DataType t, Reduction r) {
  if (is_byte_wide(t)) return false;
  return r == Reduction::sum || (bytes_of(t) == 2 && (r == Reduction::max || r == Reduction::min));
}

/// Which wires a send_recv uses: GPU to GPU over the scale-up tier, between a GPU and its host, or through the NIC to another node. Of
/// copies between a GPU and its host: either way (the mean of both), to the GPU, from it, or both ways at once, each of the size.
enum class Path : unsigned char { gpu_gpu, gpu_host, nic, to_gpu, from_gpu, both_ways };
inline constexpr std::array<std::string_view, 6> path_names{"gpu-gpu", "gpu-host", "nic", "to-gpu", "from-gpu", "both-ways"};
[[nodiscard]] constexpr std::string_view name(Path p) { return path_names[static_cast<std::size_t>(p)]; }

[[nodiscard]] constexpr bool is_host_path(Path p) { return p == Path::gpu_host || p > Path::nic; }

/// busbw / algbw: 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter, all_to_all; 1 for broadcast, reduce, send_recv, but
/// 0 for a broadcast or reduce of one rank, which moves nothing.
/// \param ranks n; fewer than 1 count as 1
[[nodiscard]] constexpr double bus_factor(Collective c, int ranks) {
  const double n = ranks > 1 ? ranks : 1;
  switch (c) {
    case Collective::all_reduce: return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce: return ranks > 1 ? 1 : 0;
    case Collective::send_recv: return 1;
  }
  return 1;
}

/// True if ranks combine values (so that the element type matters).
[[nodiscard]] constexpr bool reduces(Collective c) {
  return c == Collective::all_reduce || c == Collective::reduce_scatter || c == Collective::reduce;
}

/// all_gather and reduce_scatter: one half of an all_reduce.
[[nodiscard]] constexpr bool gathers_or_scatters(Collective c) { return c == Collective::all_gather || c == Collective::reduce_scatter; }

/// broadcast and reduce: one rank has, or gets, all of it.
[[nodiscard]] constexpr bool is_rooted(Collective c) { return c == Collective::broadcast || c == Collective::reduce; }

/// True for point-to-point traffic, which runs outside of NCCL's table of algorithms.
[[nodiscard]] constexpr bool is_exchange(Collective c) { return c == Collective::all_to_all || c == Collective::send_recv; }

/// Lower case without dashes and underscores, the form in which all names are compared.
[[nodiscard]] std::string folded(std::string_view text);
/// The place of a text among names, all folded. (Device code is C++17, which has no std::span.)
[[nodiscard]] std::optional<std::size_t> place_among(const std::string_view* names, std::size_t count, std::string_view text);
template <class Enum, std::size_t N>
[[nodiscard]] std::optional<Enum> parse_enum(std::string_view text, const std::array<std::string_view, N>& names) {
  const std::optional<std::size_t> found = place_among(names.data(), N, text);
  return found ? std::optional{static_cast<Enum>(*found)} : std::nullopt;
}

/// Names in any case, with dashes or underscores; nccl-tests' spellings too (`alltoall`, `sendrecv`).
[[nodiscard]] inline std::optional<Collective> parse_collective(std::string_view text) {
  return parse_enum<Collective>(text, collective_names);
}

/// `half`, `fp16`, `float16`, `bf16`, `float`, `fp32`, `int8`, `uint8`, `fp8`, `f8e4m3`, `double`, ...
[[nodiscard]] std::optional<DataType> parse_data_type(std::string_view text);

/// `sum`, `prod`, `max`, `min`, `avg`; none for others, such as nccl-tests' `mulsum`.
[[nodiscard]] inline std::optional<Reduction> parse_reduction(std::string_view text) {
  return parse_enum<Reduction>(text, reduction_names);
}

[[nodiscard]] inline std::optional<Path> parse_path(std::string_view text) { return parse_enum<Path>(text, path_names); }

}  // namespace fabricost::core

namespace fabricost {
using core::bus_factor;
using core::bytes_of;
using core::Collective;
using core::collective_names;
using core::data_type_names;
using core::DataType;
using core::parse_collective;
using core::parse_data_type;
using core::parse_path;
using core::parse_reduction;
using core::Path;
using core::path_names;
using core::Reduction;
using core::reduction_names;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/collective-inl.hpp>
#endif
