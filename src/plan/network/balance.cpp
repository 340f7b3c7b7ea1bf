#include <fabricost/plan/network/balance.hpp>

namespace fabricost::plan::detail {

void check_balls(double flows, double paths) {
  if (!(flows >= 0) || std::isinf(flows)) throw RequestError("the number of flows must be zero or more");
  if (!(paths >= 1) || std::isinf(paths)) throw RequestError("flows need at least one path");
}

double none_above(int flows, int paths, int k) {
  std::vector<double> left(static_cast<std::size_t>(flows) + 1, 0), next(left.size());
  left.back() = 1;
  for (int bins = paths; bins > 1; --bins) {
    std::fill(next.begin(), next.end(), 0.0);
    const double p = 1.0 / bins, ratio = p / (1 - p);
    for (int m = 0; m <= flows; ++m) {
      const double here = left[static_cast<std::size_t>(m)];
      if (here == 0) continue;
      double term = std::pow(1 - p, m);  // binomial(m, j) p^j (1 - p)^(m - j)
      for (int j = 0; j <= std::min(k, m); ++j) {
        next[static_cast<std::size_t>(m - j)] += here * term;
        term *= ratio * (m - j) / (j + 1);
      }
    }
    left.swap(next);
  }
  double out = 0;
  for (int m = 0; m <= std::min(k, flows); ++m) out += left[static_cast<std::size_t>(m)];
  return std::min(1.0, out);
}

/// The same with the links as independent Poisson variables, for numbers too large for the exact count.
double none_above_poisson(double mean, double paths, double k) {
  double term = std::exp(-mean), sum = term;
  for (int j = 1; j <= static_cast<int>(k); ++j) sum += term *= mean / j;
  return std::pow(std::min(1.0, sum), paths);
}

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

double max_load_asymptote(double flows, double paths) {
  detail::check_balls(flows, paths);
  if (flows == 0) return 0;
  const double mean = flows / paths, logs = std::log(paths);
  return mean < logs / 2 ? std::max(1.0, logs / std::log(logs / mean)) : mean + std::sqrt(2 * mean * logs);
}

double expected_max_load(double flows, double paths) {
  detail::check_balls(flows, paths);
  if (flows == 0 || paths == 1) return flows;
  const double mean = flows / paths;
  if (mean > 200) return max_load_asymptote(flows, paths);
  const bool whole = flows == std::floor(flows) && paths == std::floor(paths);
  const bool exact = whole && flows * paths <= 4096 && flows <= 256;
  if (flows < 1) return flows;  // a fraction of one flow: its expected load
  double out = 0;
  const int f = static_cast<int>(flows), p = static_cast<int>(std::min(paths, 1e9));
  const double max = exact ? flows : mean + 40 * std::sqrt(mean) + 40;
  for (int k = 0; k < max; ++k) {
    const double above = 1 - (exact ? detail::none_above(f, p, k) : detail::none_above_poisson(mean, paths, k));
    out += above;
    if (above < 1e-12) break;
  }
  return std::max({out, mean, 1.0});
}

double incast_rate(double rate, double senders, double sender_rate) {
  if (!(senders >= 1)) throw RequestError("incast needs at least one sender");
  if (!(rate > 0) || !(sender_rate > 0)) throw RequestError("a port's rate must be above zero");
  return std::min(sender_rate, rate / senders);
}

int sharp_turns(std::string_view switches, int jobs, int per_port) {
  for (const SharpLimits& s : sharp_limits) {
    if (s.switches != switches) continue;
    if (jobs < 1 || per_port < 1 || per_port > jobs)
      throw RequestError("SHARP jobs must be at least 1, those on one port no more than all");
    if (jobs > s.streaming_trees)
      throw RequestError(std::to_string(jobs) + " streaming SHARP jobs; a subnet of " + std::string{switches} + " has trees for " +
                         std::to_string(s.streaming_trees));
    return s.one_stream_per_switch ? jobs : per_port;
  }
  throw RequestError("no SHARP limits known for \"" + std::string{switches} + "\"; known: quantum, quantum-2");
}

}  // namespace fabricost::plan
