#pragma once
/// The protocols by which bytes cross a link:
///   LL      8-byte stores of which 4 are a flag: lowest latency, at most half the rate
///   LL128   120 of 128 bytes are data, needs stores that stay in order: NVLink
///   Simple  whole chunks and a separate flag: full rate, highest latency per step

#include <fabricost/algorithms/registry.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace fabricost::core {

enum class Protocol : unsigned char { ll, ll128, simple };
inline constexpr std::array<std::string_view, 3> protocol_names{"ll", "ll128", "simple"};
[[nodiscard]] constexpr std::string_view name(Protocol p) { return protocol_names[static_cast<std::size_t>(p)]; }

[[nodiscard]] inline std::optional<Protocol> parse_protocol(std::string_view text) { return parse_enum<Protocol>(text, protocol_names); }

/// Whose kernel runs a collective: the communication library's, one of an inference engine (price/custom_reduce.hpp), one over
/// symmetric windows (price/symmetric.hpp), or none, as copy engines move the bytes (price/copy_engine.hpp).
enum class CollectiveKernel : unsigned char {
  library,
  pull_one_shot,
  pull_two_shot,
  push_one_shot,
  push_two_shot,
  lamport_one_shot,
  lamport_two_shot,
  multicast,
  scattered_multicast,
  symmetric_two_shot,
  window_one_shot,
  window_two_shot,
  window_exchange,
  window_flags,
  any_buffer,
  any_buffer_two_shot,
  copy_engine,
  copy_engine_multicast
};
inline constexpr std::array<std::string_view, 18> collective_kernel_names{
    "library",          "pull_one_shot", "pull_two_shot",       "push_one_shot",       "push_two_shot",   "lamport_one_shot",
    "lamport_two_shot", "multicast",     "scattered_multicast", "symmetric_two_shot",  "window_one_shot", "window_two_shot",
    "window_exchange",  "window_flags",  "any_buffer",          "any_buffer_two_shot", "copy_engine",     "copy_engine_multicast"};
[[nodiscard]] constexpr std::string_view name(CollectiveKernel k) { return collective_kernel_names[static_cast<std::size_t>(k)]; }

/// A pair that can run: one algorithm under one protocol.
struct Candidate {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  CollectiveKernel kernel = CollectiveKernel::library;
  friend constexpr bool operator==(const Candidate&, const Candidate&) = default;
};

}  // namespace fabricost::core

namespace fabricost {
using core::Candidate;
using core::Protocol;
using core::parse_protocol;
using core::protocol_names;
}  // namespace fabricost
