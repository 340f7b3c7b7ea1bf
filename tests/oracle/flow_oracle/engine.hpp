#pragma once
/// Messages as fluid over links, event by event. A flow uses links with weights; all active flows share them
/// max-min fairly (progressive filling: the link that leaves its flows least is filled first; Bertsekas &
/// Gallager, Data Networks, 6.5.2). Rates are computed again whenever a flow starts or has left its sender. A
/// flow is delivered one latency after its last byte was sent, and may wait for others to be sent (the order
/// of one sender's queue) or delivered (data). Shares no code with the model.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

namespace flow {

struct Use {
  int link = 0;
  double weight = 1;  ///< bytes over the link per byte of the flow
};

struct Flow {
  double bytes = 0;
  double latency = 0;  ///< seconds from the last byte sent to delivery
  std::vector<Use> uses;
  std::vector<int> after_delivered, after_sent;  ///< flows with smaller numbers
};

/// Max-min fair rates of the flows named in `active`, into `rate` (indexed by flow).
class Sharing {
 public:
  explicit Sharing(std::vector<double> capacity)
      : capacity_(std::move(capacity)), left_(capacity_.size()), weight_(capacity_.size()), on_(capacity_.size()) {}

  void operator()(const std::vector<Flow>& flows, const std::vector<int>& active, std::vector<double>& rate) {
    std::vector<std::size_t> links;
    for (const int f : active) {
      rate[static_cast<std::size_t>(f)] = -1;
      for (const Use& use : flows[static_cast<std::size_t>(f)].uses) {
        const auto l = static_cast<std::size_t>(use.link);
        if (on_[l].empty()) {
          links.push_back(l);
          left_[l] = capacity_[l];
          weight_[l] = 0;
        }
        on_[l].push_back(f);
        weight_[l] += use.weight;
      }
    }
    std::size_t open = active.size();
    while (open > 0) {
      double min = std::numeric_limits<double>::infinity();
      for (const std::size_t l : links)
        if (weight_[l] > tiny) min = std::min(min, left_[l] / weight_[l]);
      if (!std::isfinite(min)) throw std::logic_error("a flow that uses no link has no rate");
      for (const std::size_t l : links) {
        if (!(weight_[l] > tiny) || left_[l] / weight_[l] > min * (1 + 1e-12)) continue;
        for (const int f : on_[l]) {
          if (rate[static_cast<std::size_t>(f)] >= 0) continue;
          rate[static_cast<std::size_t>(f)] = min;
          --open;
          for (const Use& use : flows[static_cast<std::size_t>(f)].uses) {
            const auto other = static_cast<std::size_t>(use.link);
            left_[other] = std::max(0.0, left_[other] - min * use.weight);
            weight_[other] -= use.weight;
          }
        }
      }
    }
    for (const std::size_t l : links) on_[l].clear();
  }

 private:
  static constexpr double tiny = 1e-9;
  std::vector<double> capacity_, left_, weight_;
  std::vector<std::vector<int>> on_;
};

/// Runs all flows; calls `started` and `delivered` in order of time. Returns the seconds until the last is
/// delivered.
inline double run(const std::vector<Flow>& flows, const std::vector<double>& capacity, const std::function<void(int)>& started,
                  const std::function<void(int)>& delivered) {
  const std::size_t n = flows.size();
  std::vector<int> waits(n, 0);
  std::vector<std::vector<int>> wakes_sent(n), wakes_delivered(n);
  for (std::size_t f = 0; f < n; ++f) {
    for (const int d : flows[f].after_sent) wakes_sent.at(static_cast<std::size_t>(d)).push_back(static_cast<int>(f));
    for (const int d : flows[f].after_delivered) wakes_delivered.at(static_cast<std::size_t>(d)).push_back(static_cast<int>(f));
    waits[f] = static_cast<int>(flows[f].after_sent.size() + flows[f].after_delivered.size());
  }
  using Event = std::pair<double, int>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> arrivals;
  std::vector<double> rate(n, 0.0), remaining(n);
  std::vector<int> active, ready;
  for (std::size_t f = 0; f < n; ++f) {
    remaining[f] = flows[f].bytes;
    if (waits[f] == 0) ready.push_back(static_cast<int>(f));
  }
  const auto wake = [&](const std::vector<int>& who) {
    for (const int f : who)
      if (--waits[static_cast<std::size_t>(f)] == 0) ready.push_back(f);
  };
  Sharing share(capacity);
  double now = 0;
  std::size_t done = 0;
  bool stale = false;  // a flow has left its sender
  while (done < n) {
    if (stale || !ready.empty()) {
      for (const int f : ready) {
        started(f);
        active.push_back(f);
      }
      ready.clear();
      if (!active.empty()) share(flows, active, rate);
      stale = false;
    }
    double next = arrivals.empty() ? std::numeric_limits<double>::infinity() : arrivals.top().first;
    for (const int f : active) next = std::min(next, now + remaining[static_cast<std::size_t>(f)] / rate[static_cast<std::size_t>(f)]);
    if (!std::isfinite(next)) throw std::logic_error("flows wait for each other in a circle");
    const double step = next - now;
    now = next;
    // events due within rounding of now happen now
    const double close = 1e-12 * now;
    std::vector<int> still;
    for (const int f : active) {
      const auto i = static_cast<std::size_t>(f);
      remaining[i] -= rate[i] * step;
      if (remaining[i] > rate[i] * close) {
        still.push_back(f);
        continue;
      }
      stale = true;
      arrivals.push({now + flows[i].latency, f});
      wake(wakes_sent[i]);
    }
    active.swap(still);
    while (!arrivals.empty() && arrivals.top().first <= now + close) {
      const int f = arrivals.top().second;
      arrivals.pop();
      delivered(f);
      ++done;
      wake(wakes_delivered[static_cast<std::size_t>(f)]);
    }
  }
  return now;
}

}  // namespace flow
