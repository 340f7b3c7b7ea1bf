#include <fabricost/plan/serving/experts.hpp>

namespace fabricost::plan {

bool runs_on(MoeKernel kernel, const System& system, const ExpertPlacement& at) {
  return !is_trtllm(kernel) || (at.domains() == 1 && system.domain > system.gpus_per_node);
}

Popularity with_copies(const Popularity& of, int copies, int ranks) {
  std::vector<int> counts(of.shares.size(), 1);
  const auto each = [&](std::size_t i) { return of.shares[i] / counts[i]; };
  std::vector<std::size_t> placed(of.shares.size());
  std::iota(placed.begin(), placed.end(), std::size_t{0});
  for (int n = 0; n < copies; ++n) {
    std::size_t busiest = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (each(i) > each(busiest)) busiest = i;
    ++counts[busiest];
    placed.push_back(busiest);
  }
  std::stable_sort(placed.begin(), placed.end(), [&](std::size_t a, std::size_t b) { return each(a) > each(b); });
  const auto all = static_cast<std::size_t>(ranks), places = placed.size() / all;
  std::vector<std::vector<std::size_t>> held(all);
  std::vector<double> load(all);
  for (const std::size_t i : placed) {
    std::size_t to = all;
    for (std::size_t r = 0; r < all; ++r)
      if (held[r].size() < places && (to == all || load[r] < load[to])) to = r;
    held[to].push_back(i);
    load[to] += each(i);
  }
  Popularity out;
  for (const std::vector<std::size_t>& rank : held)
    for (const std::size_t i : rank) {
      out.shares.push_back(each(i));
      out.weights.push_back(of.weights[i] / counts[i]);
    }
  return out;
}

double ExpertRoundTrip::operator()(double tokens) const {
  double seconds = price_kernel(of(dispatch_, tokens), *constants_, MoePhase::dispatch, kernel_, false).seconds() +
                   price_kernel(of(combine_, tokens), *constants_, MoePhase::combine, kernel_, false).seconds();
  if (kernel_ == MoeKernel::trtllm_two_sided)
    seconds += price_kernel(of(dispatch_, tokens), *constants_, MoePhase::prepare, kernel_, false).seconds();
  return seconds;
}

MoeWork ExpertRoundTrip::of(MoeWork one, double tokens) const {
  one.skew = inside_(tokens);
  one.tokens *= tokens;
  one.inside_bytes *= tokens * one.skew;
  one.across_bytes *= tokens * across_(tokens);
  return one;
}

}  // namespace fabricost::plan
