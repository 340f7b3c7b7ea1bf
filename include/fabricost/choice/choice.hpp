#pragma once
/// What a request says about the pair that runs: the rule, restrictions, the launch, an engine and ways. pick.hpp applies it.

#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/choice/launch.hpp>
#include <fabricost/choice/ways.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/price/protocol.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace fabricost::core {

/// The rule of choice. `algorithm` and `protocol` restrict the pair (NCCL_ALGO, NCCL_PROTO); both together force it.
struct Choice {
  enum class Rule : unsigned char { nccl, fastest };
  Rule rule = Rule::nccl;
  std::optional<Algorithm> algorithm{};
  std::optional<Protocol> protocol{};
  CallLaunch launch{};
  Inference inference{};  ///< engine whose all-reduce kernels replace NCCL's at small sizes; a pair forced on NCCL stays NCCL's
  Ways ways{};

  [[nodiscard]] bool allows(Candidate c) const {
    return (!algorithm || *algorithm == c.algorithm) && (!protocol || *protocol == c.protocol);
  }
};
/// The names of Choice::Rule in the command and Python, in its order.
inline constexpr std::array<std::string_view, 2> rule_names{"nccl", "fastest"};

/// NCCL's rule applies to libraries that follow its tuner; others are assumed to run the fastest.
[[nodiscard]] inline bool follows_tuner(Library library) { return library != Library::other; }

}  // namespace fabricost::core

namespace fabricost {
using core::Choice;
}  // namespace fabricost
