#pragma once
/// What tokens of each kind cost in serving: the price of a deployment, divided by the GPU time that each kind takes.
///
///   input    tokens of prompts that no cache has: what they add to the steps of an engine; on prefill workers, the prompt
///   cached   tokens that a cache has: attention of the others to them, and the time in which links bring them back
///   output   tokens of answers: the steps that decode
///   price    of a request x share of its kind / tokens of that kind: together they pay for all GPUs, idle ones and waits as all time is shared
///   apart    prefill workers are paid for by input and cached tokens, decode workers by output, each its GPUs' part, or that of its machines

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/serving/question.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// The price of tokens of one kind.
struct TokenPrice {
  std::string tokens{};                                  ///< input, cached or output
  double per_request = 0;                                ///< tokens
  double share = 0;                                      ///< of the price of all
  std::optional<double> dollars{};                       ///< USD per million of them; none: not known
  std::optional<std::pair<double, double>> interval{};   ///< the same at both ends of the rate
  bool operator==(const TokenPrice&) const = default;

  static AnswerTable<TokenPrice> fields();
};

/// The kinds of tokens that a deployment's requests have, without dollars.
/// \param reads the part of the price that pays for prefill workers, where they are apart
[[nodiscard]] std::vector<TokenPrice> token_shares(const System& system, const ServingQuestion& q, const PricedServing& p, double reads);

/// \param dollars per million answered tokens \param rate tokens per second that they are of \param between its ends
[[nodiscard]] std::vector<TokenPrice> token_prices(std::vector<TokenPrice> shares, std::optional<double> dollars, double rate,
                                                   std::pair<double, double> between);

}  // namespace fabricost::plan
