/// \file judge.cpp
/// When a table counts as slow. For each size x = measured / upper end of the prediction's 5-95 % interval. Large messages are slow when x
/// is above 1.15 both at the size of the best bus bandwidth and at the median of the sizes within a factor of 16 of the largest: a dip, or
/// a fall at one end, is a matter of shape (rules_curve.cpp). Small ones are slow when x is above 5 at the median of three sizes up to 64
/// KiB: launching from the host, which calibrations from graphs do not hold, costs a few times the operation (all-to-all, a launch to every
/// peer, still more: not judged). A machine told from the log alone gets 1.35 for 1.15.

#include "diagnose/context.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace fabricost::diagnosis {

namespace {

constexpr double margin = 1.15, margin_of_guess = 1.35, margin_of_small = 5;
constexpr double smallest_large = 4 * mebibyte, largest_small = 64 * kibibyte;

double beyond(const ComparedSize& one) { return one.measured / one.high; }

double median_beyond(std::vector<const ComparedSize*>& sizes) {
  std::sort(sizes.begin(), sizes.end(), [](const ComparedSize* a, const ComparedSize* b) { return beyond(*a) < beyond(*b); });
  return beyond(*sizes[(sizes.size() - 1) / 2]);
}

/// NCCL's send and receive move 16 bytes at a time where both ends are aligned; parts that are not take a path many times slower, which is
/// the size's fault and not the machine's.
bool misaligned(const ComparedSize& one) {
  if (one.operation.collective != Collective::all_to_all || one.ranks < 2) return false;
  const auto part = static_cast<long long>(one.operation.bytes.value()) / one.ranks;
  return part % 16 != 0;
}

Judged judge_one(const std::vector<const ComparedSize*>& sizes, double allowed) {
  Judged out;
  double top = 0;
  for (const ComparedSize* one : sizes) top = std::max(top, one->operation.bytes.value());
  std::vector<const ComparedSize*> upper, small;
  for (const ComparedSize* one : sizes) {
    const double bytes = one->operation.bytes.value();
    if (bytes >= top / 16) upper.push_back(one);
    if (bytes <= largest_small && one->operation.collective != Collective::all_to_all) small.push_back(one);
  }
  if (upper.empty()) return out;
  out.compared = true;
  out.at = *std::max_element(upper.begin(), upper.end(), [](const ComparedSize* a, const ComparedSize* b) { return a->bus < b->bus; });
  out.ratio = out.at->measured / out.at->predicted;
  if (top >= smallest_large) out.slow = beyond(*out.at) > allowed && median_beyond(upper) > allowed;
  if (!out.slow && small.size() >= 3) out.slow_small = median_beyond(small) > margin_of_small;
  return out;
}

}  // namespace

Judged judge(const std::vector<ComparedSize>& sizes, bool guessed) {
  std::map<std::tuple<Collective, DataType, int, int>, std::vector<const ComparedSize*>> runs;
  for (const ComparedSize& one : sizes)
    if (one.predicted > 0 && !misaligned(one))
      runs[{one.operation.collective, one.operation.dtype, one.operation.nodes, one.ranks}].push_back(&one);
  Judged worst;
  for (const auto& [key, run] : runs) {
    const Judged one = judge_one(run, guessed ? margin_of_guess : margin);
    const auto rank = [](const Judged& j) { return std::tuple{j.compared, j.slow, j.slow_small, j.ratio}; };
    if (rank(one) > rank(worst)) worst = one;
  }
  return worst;
}

}  // namespace fabricost::diagnosis
