#pragma once
/// Enumerations that describe hardware: generations, tier shapes and roles, libraries, number formats.

#include <fabricost/namespaces.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace fabricost::core {

/// The compute architecture, which determines latencies and library constants. Generations of a vendor are in
/// order of age, NVIDIA's first: NCCL's rules apply "from this one on", so a new generation, the last of its
/// vendor, has those of the previous one.
enum class Generation : unsigned char {
  pascal,
  volta,
  turing,
  ampere,
  ada,
  hopper,
  blackwell,
  rubin,
  cdna2,
  cdna3,
  cdna4,
  cdna5,
  tpu,
  gaudi,
  trainium,
  ascend,
  other
};
inline constexpr auto generation_names =
    std::to_array<std::string_view>({"pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell", "rubin", "cdna2", "cdna3",
                                     "cdna4", "cdna5", "tpu", "gaudi", "trainium", "ascend", "other"});
[[nodiscard]] constexpr std::string_view name(Generation g) { return generation_names[static_cast<std::size_t>(g)]; }
static_assert(name(Generation::other) == "other");  // as many names as enumerators, here and below
[[nodiscard]] constexpr bool is_nvidia(Generation g) { return g < Generation::cdna2; }

enum class TierKind : unsigned char {
  memory,
  switched,
  full_mesh,
  mesh_graph,
  ring,
  torus,
  host,
  point_to_point,
  rails,
  fat_tree,
  dragonfly
};
inline constexpr std::array<std::string_view, 11> tier_kind_names{
    "memory", "switch", "full_mesh", "mesh_graph", "ring", "torus", "host", "point_to_point", "rails", "fat_tree", "dragonfly"};
[[nodiscard]] constexpr std::string_view name(TierKind k) { return tier_kind_names[static_cast<std::size_t>(k)]; }
static_assert(name(TierKind::dragonfly) == "dragonfly");

/// `scale_up` joins the GPUs of a domain, `nic` leads out of a node, `network` tiers join nodes.
enum class TierRole : unsigned char { memory, scale_up, host, c2c, nic, network };
inline constexpr std::array<std::string_view, 6> tier_role_names{"memory", "scale_up", "host", "c2c", "nic", "network"};
[[nodiscard]] constexpr std::string_view name(TierRole r) { return tier_role_names[static_cast<std::size_t>(r)]; }
static_assert(name(TierRole::network) == "network");

/// Nearest common point of a GPU and its NIC, in the terms of nvidia-smi: one PCIe switch, several, the CPU's
/// host bridge, the same NUMA node, across sockets; `c2c` is a NIC on the CPU die beside the GPU (Grace).
enum class NicPath : unsigned char { pix, pxb, phb, node, sys, c2c };
inline constexpr std::array<std::string_view, 6> nic_path_names{"pix", "pxb", "phb", "node", "sys", "c2c"};
[[nodiscard]] constexpr std::string_view name(NicPath p) { return nic_path_names[static_cast<std::size_t>(p)]; }

/// The communication library whose choices a prediction follows.
enum class Library : unsigned char { nccl, rccl, oneccl, other };
inline constexpr std::array<std::string_view, 4> library_names{"nccl", "rccl", "oneccl", "other"};
[[nodiscard]] constexpr std::string_view name(Library l) { return library_names[static_cast<std::size_t>(l)]; }
static_assert(name(Library::other) == "other");

/// Vendor of the host processor: NCCL selects a bandwidth limit of its LL protocol by it.
enum class Cpu : unsigned char { intel, amd, arm, power, any };
inline constexpr std::array<std::string_view, 5> cpu_names{"intel", "amd", "arm", "power", "any"};
[[nodiscard]] constexpr std::string_view name(Cpu c) { return cpu_names[static_cast<std::size_t>(c)]; }

/// Number format of matrix products; weights are 16 bit with fp32 masters by default.
enum class Precision : unsigned char { bf16, fp16, fp8, fp4 };
inline constexpr std::array<std::string_view, 4> precision_names{"bf16", "fp16", "fp8", "fp4"};
/// Bytes of a 4-bit number with its share of a block scale: one byte per 16 numbers (NVFP4).
inline constexpr double bytes_in_4_bit = 0.5 + 1.0 / 16;
/// Bytes of a number read by a product.
[[nodiscard]] constexpr double bytes_of(Precision p) { return p == Precision::fp8 ? 1 : p == Precision::fp4 ? bytes_in_4_bit : 2; }

}  // namespace fabricost::core

namespace fabricost {
using core::Cpu;
using core::Generation;
using core::Library;
using core::NicPath;
using core::Precision;
using core::TierKind;
using core::TierRole;
using core::precision_names;
}  // namespace fabricost
