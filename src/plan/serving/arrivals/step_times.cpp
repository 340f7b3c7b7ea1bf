/// Steps of an engine from its passes.

#include <fabricost/plan/serving/arrivals/step_times.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::plan {

namespace {

[[nodiscard]] StepTimes::Parts parts_of(const Engine& engine, const ServingStack& stack) {
  const EngineLayout& layout = engine.layout();
  const double replicas = layout.attention_dp;
  const Launch launch = stack.prefill_launch;
  StepTimes::Parts out;
  out.decode = [=, &engine](double sequences, double context) { return decode_step(engine, stack, sequences * replicas, context).seconds; };
  out.rows = [=, &engine](double rows) { return rows_time(engine, stack, rows).own; };
  if (engine.model().mixture()) out.experts = [=, &engine](double rows) { return rows_time(engine, stack, rows).experts; };
  out.attention = [=, &engine](PromptPart part) {
    return prompt_factor(engine, stack) * engine.prefill(part.tokens, 1, part.past, launch).attention;
  };
  if (launch == Launch::eager) out.host = stack.host_launch * engine.prefill(1, 1, 0, launch).launches;
  out.captured = stack.captured;
  out.rows_of_sequence = static_cast<double>(1 + stack.drafts) / layout.pp;
  out.stages = layout.pp;
  return out;
}

}  // namespace

StepTimes::StepTimes(Parts parts) : parts_(std::move(parts)), rows_(parts_.rows, 2048, 32), experts_(parts_.experts, 2048, 32) {}

StepTimes::StepTimes(const Engine& engine, const ServingStack& stack) : StepTimes(parts_of(engine, stack)) {}

double StepTimes::decode(double sequences, double context) {
  const auto n = static_cast<std::size_t>(sequences);
  while (decode_.size() <= n)
    decode_.emplace_back(
        [of = parts_.decode, each = static_cast<double>(std::max<std::size_t>(1, decode_.size()))](double c) { return of(each, c); }, 16,
        2);
  return decode_[n](context);
}

double StepTimes::attention(const PromptPart& part) {
  constexpr int points = 2;
  const double place = points * std::log2(std::max(1.0, part.tokens)), low = std::floor(place);
  const auto i = static_cast<std::size_t>(low);
  while (attention_.size() <= i + 1)
    attention_.emplace_back(
        [of = parts_.attention, tokens = std::exp2(static_cast<double>(attention_.size()) / points)](double past) {
          return of({tokens, past - 1}) / tokens;
        },
        1, 2);
  const double a = attention_[i](part.past + 1), b = attention_[i + 1](part.past + 1);
  return part.tokens * (a + (place - low) * (b - a));
}

double StepTimes::beside(double sequences, const std::vector<PromptPart>& prompts) {
  const double own = rows_of(sequences);
  double tokens = 0, out = 0;
  for (const PromptPart& part : prompts) tokens += part.tokens, out += attention(part);
  return out + std::max(0.0, rows_(own + tokens) - (own >= 1 ? rows_(own) : 0));
}

double StepTimes::mixed(double decode, double added, double sequences, double tokens, double rows) {
  const double own = rows_of(sequences);
  added += std::max(0.0, experts_(own + tokens) - (own >= 1 ? experts_(own) : 0));
  trail_ = (parts_.stages - 1) * added;
  const double step = decode + added;
  return parts_.host > 0 && rows > parts_.captured ? p_norm(step, parts_.host, 4) : step;
}

}  // namespace fabricost::plan
