#pragma once
/// Checks that a System can be priced: every count, rate, latency, share and enumerator must lie in the range
/// in which the forms of the model are valid. The loader reports such faults with file and line; a System
/// that a program fills in is checked by every function that takes one.
///
/// The list is walked in two ways: quickly, without branches (about ten nanoseconds), and, after a fault, slowly, to name the field. The
/// reader of files refuses the same fields with file and line: a range that changes here changes in src/core/specs, too.

#include <fabricost/error.hpp>
#include <fabricost/hardware/interval_widths.hpp>
#include <fabricost/hardware/parameters.hpp>
#include <fabricost/hardware/system.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace fabricost::core {

/// The parts of a System that a question uses; the others need not be filled in.
struct CheckedParts {
  bool gpu = false, scale_up = false, pcie = false, transport = false, compute = false, custom = false, moe = false;
};

/// check(system) for the parts that a question uses.
void check_parts(const System& s, const CheckedParts& parts);

namespace detail {

inline constexpr double min_rate = 1, max_rate = 1e24;  // per second; below 1 a time may become infinite
inline constexpr double longest_latency = 1e3;          // s
inline constexpr CheckedParts all_parts{
    .gpu = true, .scale_up = true, .pcie = true, .transport = true, .compute = true, .custom = true, .moe = true};

/// Counts and enumerators of the machine, of its tiers and of its measurements. Calls `visit(tier,
/// name, value, min, max)`.
template <class Visit>
constexpr void visit_machine(const System& s, Visit&& visit) {
  const auto one = [&](const char* name, auto value, double min, double max) {
    visit(static_cast<const Tier*>(nullptr), name, static_cast<double>(value), min, max);
  };
  one("gpus_per_node", s.gpus_per_node, 1, 100000);
  one("domain", s.domain, 1, 1e7);
  one("pod", s.pod, 0, 1e7);
  one("nodes", s.nodes, 1, 1e7);
  one("gpu.generation", static_cast<int>(s.gpu.generation), 0, generation_names.size() - 1);
  one("cpu", static_cast<int>(s.cpu), 0, cpu_names.size() - 1);
  one("library", static_cast<int>(s.library), 0, library_names.size() - 1);
  one("constants.basis", static_cast<int>(s.constants.basis), 0, 2);
  one("constants.transport_basis", static_cast<int>(s.constants.transport_basis), 0, 2);
  one("constants.smallest", s.constants.smallest, 1e-3, 1e18);
  one("constants.largest", s.constants.largest, 1e-3, 1e18);
  one("constants.transport_smallest", s.constants.transport_smallest, 1e-3, 1e18);
  one("constants.transport_largest", s.constants.transport_largest, 1e-3, 1e18);
  one("constants.fewest_ranks", s.constants.fewest_ranks, 1, 1e9);
  one("constants.most_ranks", s.constants.most_ranks, 1, 1e9);
  one("constants.most_nodes", s.constants.most_nodes, 1, 1e9);
  for (const Tier& t : s.tiers) {
    const auto of_tier = [&](const char* name, auto value, double min, double max) {
      visit(&t, name, static_cast<double>(value), min, max);
    };
    const bool carries = t.role == TierRole::scale_up || t.role == TierRole::nic || t.role == TierRole::host || t.role == TierRole::c2c;
    of_tier("role", static_cast<int>(t.role), 0, tier_role_names.size() - 1);
    of_tier("kind", static_cast<int>(t.kind), 0, tier_kind_names.size() - 1);
    of_tier("path", static_cast<int>(t.path), 0, nic_path_names.size() - 1);
    of_tier("endpoints", t.endpoints, 1, 1e7);
    of_tier("links", t.links, 1, 100000);
    of_tier("hops", t.hops, 1, 64);
    of_tier("switches", t.switches, 0, 1e7);
    of_tier("first_stage", t.first_stage, 0, t.endpoints);
    of_tier("shared_by", t.shared_by, 1, 100000);
    of_tier("lost", t.lost, 0, 1e7);
    of_tier("per_socket", t.per_socket, 1, 100000);
    for (std::size_t i = 0; i < carried_keys.size(); ++i) of_tier(carried_keys[i].data(), t.carried[i].value(), 0, max_rate);
    for (std::size_t i = 0; i < copy_keys.size(); ++i) of_tier(copy_keys[i].data(), t.copies[i].value(), 0, max_rate);
    for (std::size_t i = 0; i < copy_start_keys.size(); ++i) of_tier(copy_start_keys[i].data(), t.copy_starts[i].value(), 0, longest_latency);
    of_tier("bandwidth", t.bandwidth.value.value(), carries ? min_rate : 0, max_rate);
    of_tier("link_bandwidth", t.link_bandwidth.value(), t.planning_rate.value() > 0 ? min_rate : 0, max_rate);
    of_tier("planning_rate", t.planning_rate.value(), 0, max_rate);
    of_tier("latency", t.latency.value.value(), 0, longest_latency);
    of_tier("nominal_latency", t.nominal_latency.value(), 0, longest_latency);
    of_tier("efficiency", t.efficiency, 1e-3, 1);
    of_tier("oversubscription", t.oversubscription, 1, 1000);
    if (t.role == TierRole::scale_up) of_tier("endpoints", t.endpoints, s.domain, s.domain);
    if (t.kind == TierKind::mesh_graph || t.kind == TierKind::torus) {
      double all = 1;
      for (const int d : t.dims) {
        of_tier("dims", d, 1, 1e6);
        all *= d;
      }
      if (t.kind == TierKind::torus) of_tier("dims, multiplied,", all, t.endpoints, t.endpoints);
      const double last = static_cast<double>(t.endpoints) - 1;  // endpoints may be any int here
      for (const Edge& e : t.edges) {
        of_tier("edges.from", e.from, 0, last);
        of_tier("edges.to", e.to, 0, last);
        of_tier("edges.links", e.links, 1, 100000);
      }
    }
  }
}

/// Memories and compute rates of the GPU; 0: unknown.
template <class Visit>
constexpr void visit_gpu(const System& s, Visit&& visit) {
  const Gpu& g = s.gpu;
  const auto rate = [&](const char* name, double value) {
    visit(static_cast<const Tier*>(nullptr), name, value, value == 0 ? 0 : min_rate, max_rate);
  };
  const auto one = [&](const char* name, double value, double max) { visit(static_cast<const Tier*>(nullptr), name, value, 0, max); };
  rate("gpu.memory", g.memory.value.value());
  rate("gpu.hbm_bandwidth", g.hbm_bandwidth.value.value());
  rate("gpu.l2_size", g.l2_size.value.value());
  rate("gpu.l2_bandwidth", g.l2_bandwidth.value.value());
  rate("gpu.fp32", g.fp32.value.value());
  rate("gpu.tf32", g.tf32.value.value());
  rate("gpu.fp16", g.fp16.value.value());
  rate("gpu.bf16", g.bf16.value.value());
  rate("gpu.fp8", g.fp8.value.value());
  rate("gpu.int8", g.int8.value.value());
  rate("gpu.fp4", g.fp4.value.value());
  one("gpu.hbm_latency", g.hbm_latency.value.value(), longest_latency);
  one("gpu.l2_latency", g.l2_latency.value.value(), longest_latency);
  one("gpu.units", g.units, 1e9);
  one("gpu.clock_hz", g.clock_hz, 1e15);
  one("gpu.power", g.power.value.value(), 1e9);
  one("gpu.price", g.price.value.value(), 1e9);
  one("power", s.power.value.value(), 1e12);
  one("price", s.price.value.value(), 1e15);
  one("host_memory", s.host_memory.value.value(), 1e15);
  rate("host_memory_rate", s.host_memory_rate.value.value());
  one("host_launch", s.host_launch.value.value(), longest_latency);
}

/// True while every visited value lies in its range; NaN lies in none.
struct InRange {
  bool fine = true;
  constexpr void operator()(const Tier*, const char*, double value, double min, double max) {
    fine = fine & (value >= min) & (value <= max);
  }
};

/// The bounds of a set's constants in the order of their struct, as plain arrays, so that the compiler
/// vectorises the comparison.
template <std::size_t N>
struct BlockBounds {
  std::array<double, N> min{}, max{};
};
template <class Block, std::size_t N>
consteval BlockBounds<N> block_bounds(const std::array<Parameter, N>& rows) {
  static_assert(sizeof(Block) == N * sizeof(double), "a constant was added: give it a row in data/priors");
  BlockBounds<N> out;
  std::array<bool, N> known{};
  for (const Parameter& row : rows) {
    const std::size_t place = row.offset / sizeof(double);
    if (known[place]) throw "two rows of one constant";
    known[place] = true;
    out.min[place] = bounds_of(row.kind).min;
    out.max[place] = bounds_of(row.kind).max;
  }
  return out;
}
inline constexpr auto scale_up_bounds = block_bounds<ScaleUpConstants>(scale_up_parameters);
inline constexpr auto pcie_bounds = block_bounds<PcieConstants>(pcie_parameters);
inline constexpr auto transport_bounds = block_bounds<TransportConstants>(transport_parameters);
inline constexpr auto compute_bounds = block_bounds<ComputeConstants>(compute_parameters);
inline constexpr auto custom_bounds = block_bounds<CustomConstants>(custom_parameters);
inline constexpr auto moe_bounds = block_bounds<MoeConstants>(moe_parameters);

template <class Block, std::size_t N>
[[nodiscard]] inline bool in_range(const Block& block, const BlockBounds<N>& bounds) {
  const double* const values = reinterpret_cast<const double*>(&block);
  std::uint64_t outside = 0;
  for (std::size_t i = 0; i < N; ++i)
    outside |= static_cast<std::uint64_t>(!(values[i] >= bounds.min[i])) | static_cast<std::uint64_t>(!(values[i] <= bounds.max[i]));
  return outside == 0;
}

/// Calls `visit(block, rows, bounds)` for every set of constants that a question uses.
template <class Visit>
constexpr void visit_constants(const Constants& c, const CheckedParts& parts, Visit&& visit) {
  if (parts.scale_up) visit(c.scale_up, scale_up_parameters, scale_up_bounds);
  if (parts.pcie) visit(c.pcie, pcie_parameters, pcie_bounds);
  if (parts.transport) visit(c.transport, transport_parameters, transport_bounds);
  if (parts.compute) visit(c.compute, compute_parameters, compute_bounds);
  if (parts.custom) visit(c.custom, custom_parameters, custom_bounds);
  if (parts.moe) visit(c.moe, moe_parameters, moe_bounds);
}

[[nodiscard]] std::string field_out_of_range(const System& s, const std::string& field, double value, double min, double max);

/// Throws for the first field outside its range. \throws RequestError always
[[noreturn]] [[gnu::cold]] [[gnu::noinline]] inline void refuse_machine(const System& s, const CheckedParts& parts) {
  const auto name_it = [&](const Tier* tier, const char* name, double value, double min, double max) {
    if (value >= min && value <= max) return;
    std::string field = name;
    if (tier != nullptr)
      field = (tier->name.empty() ? "tiers[" + std::to_string(tier - s.tiers.data()) + "]" : "tier " + std::string{tier->name.view()}) +
              ": " + name;
    throw RequestError(field_out_of_range(s, field, value, min, max));
  };
  visit_machine(s, name_it);
  if (parts.gpu) visit_gpu(s, name_it);
  const auto name_constant = [&](const std::string& field, double value, Bounds range) {
    if (!(value >= range.min && value <= range.max))
      throw RequestError(field_out_of_range(s, "constants." + field, value, range.min, range.max));
  };
  for (const auto& widths : {std::span<const NamedWidth>{interval_widths}, std::span<const NamedWidth>{general_widths}})
    for (const NamedWidth& width : widths)
      name_constant("interval." + std::string{width.key}, s.constants.interval.*width.of, width_bounds);
  visit_constants(s.constants, parts, [&](const auto&, const auto& rows, const auto&) {
    auto in_place = rows;
    std::sort(in_place.begin(), in_place.end(), [](const Parameter& a, const Parameter& b) { return a.offset < b.offset; });
    for (const Parameter& row : in_place)
      name_constant(std::string{name(row.set)} + "." + std::string{row.member}, row.value(s.constants), bounds_of(row.kind));
  });
  throw RequestError(s.name + ": domain is " + std::to_string(s.domain) + ", no multiple of the " + std::to_string(s.gpus_per_node) +
                     " gpus_per_node");
}

/// Called when a price is not finite: throws for the number of the machine that causes it.
/// \throws RequestError always
[[noreturn]] [[gnu::cold]] [[gnu::noinline]] inline void refuse_price(const System& s) {
  check_parts(s, all_parts);
  throw RequestError(s.name + ": this takes no finite time above zero; its rates or constants lie too far from any machine's");
}

}  // namespace detail

/// Checks that every number of a machine lies in its range: counts at least 1, rates and latencies finite and
/// not negative, shares at most 1, a scale-up tier that joins the domain, constants within the bounds of any
/// fit, and that there are tiers. `load_system` calls it, and so does every function that takes a System, for the parts it uses.
/// \throws RequestError naming the first field outside its range, with its value and range
inline void check(const System& system) {
  if (system.tiers.empty())
    throw RequestError((system.name.empty() ? std::string{"this System"} : system.name) +
                       ": describes no tiers: nothing says how its GPUs are joined");
  check_parts(system, detail::all_parts);
}

}  // namespace fabricost::core

namespace fabricost {
using core::check;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/check-inl.hpp>
#endif
