#include <fabricost/fields/field.hpp>
#include <fabricost/plan/economics/token_prices.hpp>

#include <algorithm>

namespace fabricost::plan {

AnswerTable<TokenPrice> TokenPrice::fields() {
  using A = TokenPrice;
  return {gives(&A::tokens, "tokens", "tokens",
                "input: of prompts, that no cache has; cached: that a cache has; output: of answers."),
          gives(&A::per_request, "per_request", "per_request", "Tokens of the mean request."),
          gives(&A::share, "share", "share", "Of the price of all, by the GPU time that they take."),
          gives(&A::dollars, "dollars_per_million", "dollars_per_million", "USD for a million of them; None: not known."),
          gives(&A::interval, "interval_dollars_per_million", "interval_dollars_per_million",
                "(low, high): the same at both ends of the rate; None: not known.")};
}

namespace {

/// The share of a prompt's seconds on one server that its cached tokens take.
[[nodiscard]] double share_of_cached(const System& system, const ServingQuestion& q, const PricedServing& p) {
  if (p.cached <= 0) return 0;
  const bool other = p.apart && q.pool;
  const ServingStack& stack = p.apart ? q.prefill_stack() : q.stack;
  ServingMachine machine(other ? *q.pool->system : system, other ? q.pool->constants : q.constants, q.prefill_stack().kernels);
  const Engine engine{q.model, p.apart ? p.prefill : p.engine, q.format, machine};
  const double read = std::max(1.0, q.isl - p.cached);
  const auto attention = [&](double past) { return engine.prefill(read, 1, past, stack.prefill_launch).attention; };
  const double input = prompt_of_many(prefill_prompt(engine, stack, read));
  const double cached = stack.stretch * stack.prefill * (attention(p.cached) - attention(0)) + p.moving;
  return cached / (input + cached);
}

}  // namespace

std::vector<TokenPrice> token_shares(const System& system, const ServingQuestion& q, const PricedServing& p, double reads) {
  const double prompts = p.apart ? q.osl > 1 ? reads : 1 : p.time.prompts, of_cached = share_of_cached(system, q, p);
  std::vector<TokenPrice> out{{"input", q.isl - p.cached, prompts * (1 - of_cached)}};
  if (p.cached > 0) out.push_back({"cached", p.cached, prompts * of_cached});
  out.push_back({"output", q.osl, 1 - prompts});
  return out;
}

std::vector<TokenPrice> token_prices(std::vector<TokenPrice> shares, std::optional<double> dollars, double rate,
                                     std::pair<double, double> between) {
  if (!dollars || shares.empty()) return shares;
  const double request = *dollars * shares.back().per_request;  // a million of them
  for (TokenPrice& one : shares) {
    if (!(one.per_request > 0)) continue;
    one.dollars = request * one.share / one.per_request;
    if (between.first > 0) one.interval = {*one.dollars * rate / between.second, *one.dollars * rate / between.first};
  }
  return shares;
}

}  // namespace fabricost::plan
