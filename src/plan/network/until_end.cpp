#include <fabricost/plan/network/until_end.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace fabricost::plan {

AloneTime alone_time_of(const Prediction& alone) {
  double wire = 0;
  for (const Term& term : alone.terms)
    if (is_transfer(term.name.view())) wire += term.time.value();
  return {alone.seconds - wire, wire};
}

double contended_time(const Prediction& alone, double slow_down) {
  if (!(slow_down >= 1)) throw RequestError("a slow-down is at least 1");
  return alone.seconds + (slow_down - 1) * alone_time_of(alone).wire;
}

std::vector<double> until_end(const ConcurrentFlows& flows, std::span<const AloneTime> alone, std::vector<int> running) {
  constexpr double rounding = 1 + 1e-9;
  std::vector<double> end(alone.size(), 0), left(alone.size(), 1);  // left: the share of a collective that is still to be done
  double now = 0;
  while (!running.empty()) {
    const std::vector<double> slow_downs = flows.slow_downs(running);
    std::vector<double> whole(running.size());  // seconds that each would take at this rate from beginning to end
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < running.size(); ++i) {
      const auto c = static_cast<std::size_t>(running[i]);
      whole[i] = alone[c].slowed(slow_downs[i]);
      next = std::min(next, left[c] * whole[i]);
    }
    std::vector<int> others;
    for (std::size_t i = 0; i < running.size(); ++i) {
      const auto c = static_cast<std::size_t>(running[i]);
      if (const double rest = left[c] * whole[i]; rest <= next * rounding) {
        end[c] = now + rest;
      } else {
        left[c] -= next / whole[i];
        others.push_back(running[i]);
      }
    }
    now += next;
    running = std::move(others);
  }
  return end;
}

}  // namespace fabricost::plan
