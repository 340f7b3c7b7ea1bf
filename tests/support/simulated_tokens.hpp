#pragma once
/// Simulated tokens that choose experts one by one with Gumbel noise on log-weights, groups first if there is
/// a limit: an oracle for routing.

#include <fabricost/experts/routing.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <vector>

namespace fabricost::test {

using namespace observe;

class Tokens {
 public:
  Tokens(const Gate& gate, std::vector<double> weights, unsigned seed) : gate_(gate), weights_(std::move(weights)), random_(seed) {}

  /// The experts of one token. With a limit, the M groups are those with the highest best score; for skewed
  /// weights, those with the highest sum of two best scores, as DeepSeek-V3 ranks them.
  std::vector<int> choose() {
    std::vector<std::pair<double, int>> scores;
    scores.reserve(weights_.size());
    for (int i = 0; i < gate_.experts; ++i) {
      const double w = weights_[static_cast<std::size_t>(i)];
      const double clock = w > 0 ? -std::log(uniform_(random_)) / w : 1e300;
      scores.emplace_back(clock, i);
    }
    if (gate_.limited()) {
      const int each = gate_.experts / gate_.groups;
      std::vector<std::pair<double, int>> groups;
      for (int g = 0; g < gate_.groups; ++g) {
        std::vector<double> best;
        for (int i = 0; i < each; ++i) best.push_back(-std::log(scores[static_cast<std::size_t>(g * each + i)].first));
        std::partial_sort(best.begin(), best.begin() + std::min(2, each), best.end(), std::greater<>());
        groups.emplace_back(-(best[0] + (each > 1 ? best[1] : 0)), g);
      }
      std::sort(groups.begin(), groups.end());
      std::vector<std::pair<double, int>> open;
      for (int m = 0; m < gate_.group_limit; ++m)
        for (int i = 0; i < each; ++i)
          open.push_back(scores[static_cast<std::size_t>(groups[static_cast<std::size_t>(m)].second * each + i)]);
      // equal experts: draw again inside the groups, since being picked for its best score must not favour a
      // group's experts
      if (alike())
        for (auto& [clock, i] : open) clock = uniform_(random_);
      scores = std::move(open);
    }
    std::partial_sort(scores.begin(), scores.begin() + gate_.top_k, scores.end());
    std::vector<int> out;
    for (int j = 0; j < gate_.top_k; ++j) out.push_back(scores[static_cast<std::size_t>(j)].second);
    return out;
  }

  std::vector<double> touched_each(int sets, int tokens) {
    std::vector<double> out(static_cast<std::size_t>(sets), 0);
    const int size = gate_.experts / sets;
    for (int t = 0; t < tokens; ++t) {
      std::set<int> touched;
      for (const int i : choose()) touched.insert(i / size);
      for (const int s : touched) out[static_cast<std::size_t>(s)] += 1.0 / tokens;
    }
    return out;
  }
  double mean_touched(int sets, int tokens) {
    double out = 0;
    for (const double p : touched_each(sets, tokens)) out += p;
    return out;
  }
  /// Mean over `trials` of the fullest rank's choices over the mean, with `tokens` tokens per trial.
  double fullest_over_mean(int ranks, int tokens, int trials) {
    const int size = gate_.experts / ranks;
    double sum = 0;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<int> load(static_cast<std::size_t>(ranks), 0);
      for (int t = 0; t < tokens; ++t)
        for (const int i : choose()) ++load[static_cast<std::size_t>(i / size)];
      sum += *std::max_element(load.begin(), load.end());
    }
    return sum / trials / (static_cast<double>(tokens) * gate_.top_k / ranks);
  }

 private:
  [[nodiscard]] bool alike() const {
    return std::all_of(weights_.begin(), weights_.end(), [&](double w) { return w == weights_.front(); });
  }
  Gate gate_;
  std::vector<double> weights_;
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_{1e-12, 1.0};
};

}  // namespace fabricost::test
