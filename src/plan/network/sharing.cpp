#include <fabricost/plan/network/sharing.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <queue>
#include <string>
#include <utility>

namespace fabricost::plan {

std::vector<int> Sharing::sharers(std::span<const Flow> flows, int link) {
  std::vector<int> out;
  for (std::size_t f = 0; f < flows.size(); ++f)
    for (const LinkUse& use : flows[f].uses)
      if (use.link == link && use.share > 0) {
        out.push_back(static_cast<int>(f));
        break;
      }
  return out;
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

void check_flows(std::span<const double> capacities, std::span<const Flow> flows) {
  for (std::size_t l = 0; l < capacities.size(); ++l)
    if (!(capacities[l] > 0)) throw RequestError("link " + std::to_string(l) + " carries nothing; a capacity must be above zero");
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const auto fault = [f](const std::string& what) { throw RequestError("flow " + std::to_string(f) + ": " + what); };
    if (!(flows[f].weight > 0) || std::isinf(flows[f].weight)) fault("a weight must be a number above zero");
    if (!(flows[f].limit >= 0)) fault("a limit must not be negative");
    bool held = !std::isinf(flows[f].limit);
    for (const LinkUse& use : flows[f].uses) {
      if (use.link < 0 || static_cast<std::size_t>(use.link) >= capacities.size())
        fault("crosses link " + std::to_string(use.link) + " of " + std::to_string(capacities.size()));
      if (!(use.share >= 0) || std::isinf(use.share)) fault("a share of a link must be a number, zero or more");
      held = held || use.share > 0;
    }
    if (!held) fault("crosses no link and has no limit, so its rate is unbounded; give it `limit`");
  }
}

/// Fills links in the order in which they become full.
class Filling {
 public:
  Filling(std::span<const double> capacities, std::span<const Flow> flows) : capacities_(capacities), flows_(flows) {
    const std::size_t links = capacities.size();
    out_ = {.rates = std::vector<double>(flows.size(), 0),
            .bottlenecks = std::vector<int>(flows.size(), -1),
            .loads = std::vector<double>(links, 0)};
    rising_.assign(links, 0);
    first_.assign(links + 1, 0);
    for (const Flow& flow : flows)
      for (const LinkUse& use : flow.uses) {
        rising_[index(use)] += use.share * flow.weight;
        ++first_[index(use) + 1];
      }
    unfrozen_.assign(first_.begin() + 1, first_.end());
    for (std::size_t l = 0; l < links; ++l) first_[l + 1] += first_[l];
    users_.resize(static_cast<std::size_t>(first_[links]));
    std::vector<int> at(first_.begin(), first_.end() - 1);
    for (std::size_t f = 0; f < flows.size(); ++f)
      for (const LinkUse& use : flows[f].uses) users_[static_cast<std::size_t>(at[index(use)]++)] = static_cast<int>(f);
    frozen_.assign(flows.size(), false);
  }

  [[nodiscard]] Sharing run() {
    std::vector<std::pair<double, int>> limits;
    for (std::size_t f = 0; f < flows_.size(); ++f)
      if (!std::isinf(flows_[f].limit)) limits.emplace_back(flows_[f].limit / flows_[f].weight, static_cast<int>(f));
    std::sort(limits.begin(), limits.end());
    std::vector<std::pair<double, int>> start;
    for (std::size_t l = 0; l < capacities_.size(); ++l)
      if (rising_[l] > 0) start.emplace_back(level(l), static_cast<int>(l));
    std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> next(std::greater<>{},
                                                                                                          std::move(start));
    std::size_t limit = 0;
    while (!next.empty()) {
      const auto [t, l] = next.top();
      if (limit < limits.size() && limits[limit].first <= t) {  // a flow reaches its own limit first
        freeze(static_cast<std::size_t>(limits[limit].second), limits[limit].first, -1);
        ++limit;
        continue;
      }
      next.pop();
      const auto link = static_cast<std::size_t>(l);
      if (unfrozen_[link] == 0 || !(rising_[link] > 0)) continue;
      const double now = level(link);  // never falls: a flow that stopped meanwhile stopped at a lower level
      if (now > t * (1 + 1e-12)) {
        next.emplace(now, l);
        continue;
      }
      for (int u = first_[link]; u < first_[link + 1]; ++u) freeze(static_cast<std::size_t>(users_[static_cast<std::size_t>(u)]), t, l);
    }
    for (; limit < limits.size(); ++limit) freeze(static_cast<std::size_t>(limits[limit].second), limits[limit].first, -1);
    return std::move(out_);
  }

 private:
  static std::size_t index(const LinkUse& use) { return static_cast<std::size_t>(use.link); }
  [[nodiscard]] double level(std::size_t l) const { return std::max(0.0, capacities_[l] - out_.loads[l]) / rising_[l]; }

  void freeze(std::size_t f, double t, int bottleneck) {
    if (frozen_[f]) return;
    if (bottleneck >= 0 && !crosses(f, bottleneck)) return;
    frozen_[f] = true;
    const Flow& flow = flows_[f];
    out_.rates[f] = t * flow.weight;
    out_.bottlenecks[f] = bottleneck;
    for (const LinkUse& use : flow.uses) {
      const std::size_t l = index(use);
      out_.loads[l] += out_.rates[f] * use.share;
      rising_[l] = --unfrozen_[l] > 0 ? std::max(0.0, rising_[l] - use.share * flow.weight) : 0;
    }
  }
  /// A use with share zero does not count.
  [[nodiscard]] bool crosses(std::size_t f, int link) const {
    for (const LinkUse& use : flows_[f].uses)
      if (use.link == link && use.share > 0) return true;
    return false;
  }

  std::span<const double> capacities_;
  std::span<const Flow> flows_;
  Sharing out_;
  std::vector<double> rising_;      // sum of share x weight of the flows still rising
  std::vector<int> unfrozen_;       // uses by flows still rising
  std::vector<int> first_, users_;  // flows of a link, from first_[l] to first_[l + 1]
  std::vector<bool> frozen_;
};

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

Sharing share_max_min(std::span<const double> capacities, std::span<const Flow> flows) {
  detail::check_flows(capacities, flows);
  return detail::Filling{capacities, flows}.run();
}

}  // namespace fabricost::plan
