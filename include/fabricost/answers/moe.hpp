#pragma once
/// The time of dispatch, combine or prepare of one layer's experts (experts/moe_kernels.hpp).

#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/fields/terms.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

inline constexpr std::array<std::string_view, 3> moe_operation_names{"moe_prepare", "moe_dispatch", "moe_combine"};
/// Names of operations, with those of expert exchange.
[[nodiscard]] std::vector<std::string> operation_names();
[[nodiscard]] constexpr auto words_of(MoePhase) { return EnumWords{moe_operation_names, "an exchange of experts"}; }

/// The data type of the exchanged tokens.
enum class TokenType : unsigned char { bfloat16, half, fp8, nvfp4 };
inline constexpr std::array<std::string_view, 4> token_type_names{"bfloat16", "half", "fp8", "nvfp4"};
[[nodiscard]] constexpr auto words_of(TokenType) { return EnumWords{token_type_names, "a type that tokens travel in"}; }
[[nodiscard]] inline std::optional<TokenType> parse_word(TokenType, std::string_view text) {
  const std::string t = folded(text);
  return t == "bf16"   ? TokenType::bfloat16
         : t == "fp16" ? TokenType::half
         : t == "fp4"  ? TokenType::nvfp4
                       : parse_enum<TokenType>(text, token_type_names);
}
[[nodiscard]] constexpr auto words_of(MoeKernel) { return EnumWords{moe_kernel_names, "an implementation"}; }
[[nodiscard]] inline std::optional<MoeKernel> parse_word(MoeKernel, std::string_view text) { return parse_moe_kernel(text); }

/// Machine and phase are not fields: each interface names them its own way.
struct MoeRequest {
  Machine system;                       ///< the machine
  std::string calibration;              ///< none, or a calibration file; default the shipped one
  std::vector<std::string> overrides;   ///< values of the machine, as in tiers.nic.endpoints=4
  MoePhase phase = MoePhase::dispatch;  ///< dispatch or combine

  std::optional<double> tokens;
  std::optional<int> hidden, experts, top_k;
  int ranks = 0, nodes = 0;
  MoeKernel implementation = MoeKernel::deepep_normal;
  std::optional<TokenType> dtype;
  Routing distribution{.kind = RoutingKind::uniform};
  int groups = 0, group_limit = 0, sms = 0;

  static RequestTable<MoeRequest> fields();
};

struct MoeAnswer {
  std::string operation{}, system{};
  int nodes = 1, ranks = 1;
  std::string dtype{};
  Bytes bytes{};
  Time time{};
  Bandwidth algorithm_bandwidth{}, bus_bandwidth{};
  std::string implementation{}, protocol{}, binding_tier{}, basis{};
  std::vector<std::string> extrapolated{}, assumed{};
  std::pair<Time, Time> interval{};
  double tokens = 0, copies = 0;
  Bytes inside{}, across{};
  std::vector<Term> terms{};

  MoePrediction made{};                     ///< input of explain()
  std::shared_ptr<const System> machine{};  ///< the machine of the prediction

  static AnswerTable<MoeAnswer> fields();
};

/// Checks everything that needs no machine. \throws Refusal, RequestError
void check(const MoeRequest& request);
/// \throws Refusal, RequestError as predict; SpecError, RequestError as load_system
[[nodiscard]] MoeAnswer answer(const MoeRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::MoeAnswer;
using core::MoeRequest;
}  // namespace fabricost
