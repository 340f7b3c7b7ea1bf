#include <fabricost/plan/rl/rollout.hpp>

namespace fabricost::plan {

double AnswerLengths::quantile(double u) const {
  if (spread_ <= 0) return mean_;
  double low = -halvings, high = halvings;  // standard deviations
  for (int i = 0; i < halvings; ++i) (below((low + high) / 2) < u ? low : high) = (low + high) / 2;
  return std::clamp(std::exp(centre_ + spread_ * low), 1.0, max_);
}

const std::vector<double>& AnswerLengths::typical(int count) const {
  std::vector<double>& out = typical_[count];
  if (!out.empty()) return out;
  out.resize(static_cast<std::size_t>(count));
  std::size_t at = 0;
  // the bits of a counter read backwards (van der Corput): each prefix is spread over the whole
  int bits = 0;
  while ((1 << bits) < count) ++bits;
  for (int i = 0; i < (1 << bits); ++i) {
    int turned = 0;
    for (int b = 0; b < bits; ++b) turned |= ((i >> b) & 1) << (bits - 1 - b);
    if (turned < count) out[at++] = quantile((turned + 0.5) / count);
  }
  return out;
}

double DecodeTable::operator()(double running, double context) const {
  const auto above = std::lower_bound(batches_.begin(), batches_.end(), running);
  const std::size_t right = static_cast<std::size_t>(std::min(above, batches_.end() - 1) - batches_.begin());
  const std::size_t left = right > 0 ? right - 1 : 0;
  const double part = right > left ? std::clamp((running - batches_[left]) / (batches_[right] - batches_[left]), 0.0, 1.0) : 0;
  return (1 - part) * at(left, context) + part * at(right, context);
}

double DecodeTable::at(std::size_t batch, double context) const {
  const double place = std::clamp((context - low_) / (high_ - low_), 0.0, 1.0) * (contexts - 1);
  const int left = std::min(static_cast<int>(place), contexts - 2);
  const double* row = &seconds_[batch * contexts];
  return row[left] + (place - left) * (row[left + 1] - row[left]);
}

double running_of(const Engine& engine, const ServingStack& stack, const RolloutLoad& load, const AnswerLengths& lengths, double share,
                  double max_batch) {
  if (engine.capacity(load.isl + lengths.max(), stack.memory_share, stack.cache_share) < 1) return 0;
  const double room = engine.capacity(load.isl + lengths.mean(), stack.memory_share, stack.cache_share);
  return std::max(1.0, std::min({std::floor(room), std::ceil(share), max_batch}));
}

RolloutTime rollout_time(const Engine& engine, const ServingStack& stack, const RolloutLoad& load, const AnswerLengths& lengths,
                         int engines, double running, bool drains) {
  RolloutTime out;
  const double share = load.sequences() / engines, mean = lengths.mean();
  out.running = running;
  const DecodeTable table{engine, stack, running, load.isl, load.isl + lengths.max()};
  out.token = table(running, load.isl + lengths.moment(2) / (2 * mean));
  out.steady = share * mean / running * out.token;
  const Prefill prompt = prefill_prompt(engine, stack, load.isl);
  const double at_once = static_cast<double>(engine.layout().attention_dp) * engine.layout().pp;
  out.prompts = prompt.alone + std::max(0.0, load.prompts / engines / at_once - 1) * prompt.shared;
  if (drains) {
    const double all = load.sequences();
    out.tail = drained_seconds(load, lengths, share, running, lengths.quantile(all / (all + 1)), table) - out.steady;
  }
  out.seconds = out.prompts + out.steady + out.tail;
  return out;
}

}  // namespace fabricost::plan
