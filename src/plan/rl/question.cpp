#include <fabricost/plan/rl/question.hpp>

namespace fabricost::plan {

TrainingQuestion update_on(const RlQuestion& q, int gpus) {
  const double isl = q.load.isl, mean = isl + q.lengths.mean(), longest = isl + q.lengths.max();
  const double square = isl * isl + 2 * isl * q.lengths.mean() + q.lengths.moment(2);
  const double answers = std::max(1.0, std::floor(q.load.sequences() * q.epochs / q.updates));
  const int most = static_cast<int>(std::max(1.0, std::floor(answers * mean / std::max(longest, mean))));
  constexpr int spare = 8;
  const std::vector<int> even = divisors(gpus, std::max(1, most / spare));
  constexpr double tile = 128;  // tokens; packed sequences are padded to whole tiles, which context and tensor ranks divide
  TrainingQuestion out = q.training;
  out.gpus = gpus;
  out.global_batch = most / even.back() * even.back();
  out.sequence = static_cast<int>(std::ceil(answers * mean / out.global_batch / tile) * tile);
  out.document = static_cast<int>(std::min<double>(out.sequence, std::ceil(square / mean)));
  return out;
}

}  // namespace fabricost::plan
