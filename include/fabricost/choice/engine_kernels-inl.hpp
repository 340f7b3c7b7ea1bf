#pragma once
/// Bodies of engine_kernels.hpp.

#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/compiled_once.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace fabricost::core::detail {

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
    CollectiveKernel kernel = CollectiveKernel::library;
    ByRanks below{}, to{};  ///< exclusive, inclusive
  };
  HandOverCondition when{};
  Kernel kernels[4]{};
};
struct EngineTable {
  std::string_view name;  ///< of its file
  InferenceLibrary library = InferenceLibrary::none;
  int pcie_ranks = 0;         ///< maximum ranks over PCIe
  int across_nodes_from = 0;  ///< version from which kernels run across the nodes of a domain; the largest number: none
  int most_ranks = 0;         ///< powers of two above 8 ranks have the sizes of 8
  std::string_view experts;   ///< of MoeKernel, by its name; empty: none of its own
  std::string_view called;    ///< what tables of measurements call it; empty: as the file
  std::array<std::pair<std::string_view, CollectiveKernel>, 4> kernels{};  ///< what they call its kernels
  int rules = 0;
  HandOver hand_over[12]{};  ///< the first whose condition holds
};

/// The version to compare with others: the newest known is later than any that is named.
[[nodiscard]] constexpr int compared_version(const Inference& i) { return i.version == 0 ? std::numeric_limits<int>::max() - 1 : i.version; }
/// Rules without a generation are of NVIDIA's GPUs.
FABRICOST_BODY bool is_of_vendor(const HandOverCondition& c, Library library) {
  return library == Library::nccl ? c.generation == Generation::other || is_nvidia(c.generation)
                                  : c.generation != Generation::other && !is_nvidia(c.generation);
}
FABRICOST_BODY bool holds(const HandOverCondition& c, const Inference& i, const Fabric& f, bool ultra) {
  const int version = compared_version(i);
  return version >= c.from && version < c.before && (c.generation == Generation::other || c.generation == f.generation) &&
         (ultra || !c.ultra) && (f.in_switch || !c.in_switch) && (f.over_pcie || !c.pcie);
}

}  // namespace fabricost::core::detail

#include <fabricost/choice/shipped_engines.inc>

namespace fabricost::core {

FABRICOST_BODY std::optional<InferenceLibrary> parse_inference_library(std::string_view text) {
  const auto found = parse_enum<InferenceLibrary>(text, inference_library_names);
  if (found && *found != InferenceLibrary::none) return found;
  for (const detail::EngineTable& engine : detail::engine_tables)
    if (folded(text) == folded(engine.name) || (!engine.called.empty() && folded(text) == folded(engine.called))) return engine.library;
  return std::nullopt;
}

FABRICOST_BODY std::optional<CollectiveKernel> kernel_of_engine(InferenceLibrary library, std::string_view text) {
  for (const detail::EngineTable& engine : detail::engine_tables)
    for (const auto& [called, kernel] : engine.kernels)
      if (engine.library == library && !called.empty() && folded(text) == folded(called)) return kernel;
  return std::nullopt;
}

FABRICOST_BODY std::string_view experts_of_engine(std::string_view engine) {
  const auto library = parse_inference_library(engine);
  for (const detail::EngineTable& table : detail::engine_tables)
    if (table.library == library) return table.experts;
  return {};
}

FABRICOST_BODY int version_number(std::string_view text) {
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

FABRICOST_BODY CollectiveKernel ReducePieces::at(double bytes) const {
  for (const Piece& p : *this)
    if (bytes < p.until) return p.kernel;
  return CollectiveKernel::library;
}

FABRICOST_BODY bool has_kernels_with(InferenceLibrary engine, Library library) {
  return std::any_of(std::begin(detail::engine_tables), std::end(detail::engine_tables), [&](const detail::EngineTable& table) {
    return table.library == engine && std::any_of(table.hand_over, table.hand_over + table.rules,
                                                  [&](const detail::HandOver& one) { return detail::is_of_vendor(one.when, library); });
  });
}

FABRICOST_BODY ReducePieces reduce_pieces(const Inference& i, const Fabric& f, bool ultra) {
  const auto n = static_cast<std::size_t>(f.ranks());
  ReducePieces out;
  if (i.library == InferenceLibrary::none || f.domains() > 1 || n < 2 || (f.library != Library::nccl && f.library != Library::rccl)) return out;
  for (const detail::EngineTable& engine : detail::engine_tables) {
    if (engine.library != i.library) continue;
    if (n > detail::max_engine_ranks && (n > static_cast<std::size_t>(engine.most_ranks) || !std::has_single_bit(n))) return out;
    if (f.over_pcie && static_cast<int>(n) > engine.pcie_ranks) return out;
    if (f.nodes > 1 && detail::compared_version(i) < engine.across_nodes_from) return out;
    const auto* const end = engine.hand_over + engine.rules;
    const auto* const rule = std::find_if(engine.hand_over, end, [&](const auto& one) {
      return detail::is_of_vendor(one.when, f.library) && detail::holds(one.when, i, f, ultra);
    });
    if (rule == end) return out;
    const std::size_t at = std::min(n, detail::max_engine_ranks) - 2;
    for (const auto& [kernel, below, to] : rule->kernels) {
      if (below[at] > 0) out.add(kernel, below[at]);
      if (to[at] > 0) out.add(kernel, std::nextafter(to[at], 2 * to[at]));
    }
  }
  return out;
}

}  // namespace fabricost::core
