#pragma once
/// Maps a forced algorithm, protocol or in-switch reduction to NCCL's environment variables, and rejects
/// combinations that NCCL lacks.
///
/// NCCL reads NCCL_ALGO and NCCL_PROTO when a communicator is initialised (src/graph/tuning.cc), so every
/// choice needs its own communicator. Where NCCL cannot run the forced algorithm it silently runs another
/// one; such cases are refused here.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/price/protocol.hpp>

#include "measure/device.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::probes::measure::gpu {

/// NCCL's name of an algorithm or protocol.
using core::nccl_name;
[[nodiscard]] constexpr std::string_view nccl_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll: return "LL";
    case Protocol::ll128: return "LL128";
    case Protocol::simple: return "Simple";
  }
  return "";
}

/// The reason why NCCL cannot run this forced case; empty if it can, or if only the machine can tell.
[[nodiscard]] inline std::optional<std::string> why_not_forced(const Case& what) {
  const std::string operation{name(what.operation)};
  if (is_exchange(what.operation) && (what.algorithm || what.protocol))
    return operation + " is made of sends and receives, which NCCL runs without an algorithm or protocol to choose";
  if (!what.algorithm) return std::nullopt;
  const Algorithm a = *what.algorithm;
  if (nccl_name(a).empty()) return "NCCL has no algorithm " + std::string(name(a));
  const bool all_reduce = what.operation == Collective::all_reduce;
  const bool gathers = what.operation == Collective::all_gather || what.operation == Collective::reduce_scatter;
  const bool fits = a == Algorithm::ring || (a == Algorithm::pat && gathers) ||
                    ((a == Algorithm::nvls || a == Algorithm::collnet_direct) && (all_reduce || gathers)) ||
                    ((a == Algorithm::tree || a == Algorithm::nvls_tree || a == Algorithm::collnet_chain) && all_reduce);
  if (!fits) return "NCCL has no " + std::string(nccl_name(a)) + " for " + operation;
  if (what.protocol && *what.protocol != Protocol::simple && a != Algorithm::ring && a != Algorithm::tree)
    return "NCCL runs " + std::string(nccl_name(a)) + " with the protocol Simple only";
  const bool in_switch = a == Algorithm::nvls || a == Algorithm::nvls_tree;
  if (in_switch && what.nvls == false) return std::string(nccl_name(a)) + " was asked for and NVLS forbidden";
  if (in_switch && reduces(what.operation) && is_byte_wide(what.dtype)) return "NVLS does not reduce " + std::string(name(what.dtype));
  return std::nullopt;
}

/// Variables set during one communicator's initialisation. Other variables keep the user's values.
[[nodiscard]] inline std::vector<std::pair<std::string, std::string>> nccl_environment(const Case& what) {
  std::vector<std::pair<std::string, std::string>> set;
  if (what.algorithm) set.emplace_back("NCCL_ALGO", nccl_name(*what.algorithm));
  if (what.protocol) set.emplace_back("NCCL_PROTO", nccl_name(*what.protocol));
  if (what.algorithm && is_collnet(*what.algorithm)) set.emplace_back("NCCL_COLLNET_ENABLE", "1");
  return set;
}

/// Two cases with the same key can share a communicator.
[[nodiscard]] inline std::string communicator_key(const Case& what) {
  std::string key = what.nvls ? (*what.nvls ? "nvls;" : "no-nvls;") : ";";
  for (const auto& [variable, value] : nccl_environment(what)) key += variable + "=" + value + ";";
  for (const int gpu : what.gpus) key += std::to_string(gpu) + ",";
  return key;
}

}  // namespace fabricost::probes::measure::gpu
