#pragma once
/// \file inference-inl.hpp
/// Bodies of inference.hpp.

#include <fabricost/choice/inference.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY std::optional<InferenceLibrary> parse_inference_library(std::string_view text) {
  if (folded(text) == "tensorrtllm") return InferenceLibrary::trtllm;
  const auto found = parse_enum<InferenceLibrary>(text, inference_library_names);
  return found == InferenceLibrary::none ? std::nullopt : found;
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

FABRICOST_BODY ReduceKernel ReducePieces::at(double bytes) const {
  for (const Piece& p : *this)
    if (bytes < p.until) return p.kernel;
  return ReduceKernel::library;
}

}  // namespace fabricost::core

namespace fabricost::core::detail {

FABRICOST_BODY bool holds(const HandOverCondition& c, const Inference& i, const Fabric& f, bool ultra) {
  const int version = compared_version(i);
  return version >= c.from && version < c.before && (c.generation == Generation::other || c.generation == f.generation) &&
         (ultra || !c.ultra) && (f.in_switch || !c.in_switch) && (f.over_pcie || !c.pcie);
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY ReducePieces reduce_pieces(const Inference& i, const Fabric& f, bool ultra) {
  const auto n = static_cast<std::size_t>(f.ranks());
  ReducePieces out;
  if (i.library == InferenceLibrary::none || f.domains() > 1 || n < 2 || n > detail::max_engine_ranks || f.library != Library::nccl)
    return out;
  for (const detail::EngineTable& engine : detail::engine_tables) {
    if (engine.library != i.library) continue;
    if (f.over_pcie && static_cast<int>(n) > engine.pcie_ranks) return out;
    if (f.nodes > 1 && detail::compared_version(i) < engine.across_nodes_from) return out;
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

}  // namespace fabricost::core
