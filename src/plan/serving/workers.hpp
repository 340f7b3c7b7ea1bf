#pragma once
/// How many engines GPUs hold, and which numbers of prefill and decode workers answer most, without trying all of them.
///
///   c = n_d b requests in flight, S = n_p s prefill servers, T the seconds of an answer after its first token
///   TTFT     max( a + k max(0, c / S - 1) + W, c f / S - T, r - T )   (ApartWaits: alone, bunching, full, answer, received), W and r in no bound
///   rate     c / (TTFT + T)
///   bounds   1 / rate >= (a + T) / c,  >= f / S,  >= (a + T - k) / c + k / S;  n_d g_d + n_p g_p <= G gives with each of them the
///            most that any numbers reach; a limit on TTFT bounds c / S, too

#include <fabricost/plan/kernels/groups.hpp>
#include <fabricost/plan/serving/serving.hpp>

#include <cmath>
#include <optional>
#include <vector>

namespace fabricost::plan::detail {

/// GPUs that an engine uses, and GPUs of the places in domains that it takes: a domain holds only whole groups of ranks.
struct Footprint {
  double gpus = 1, places = 1;
};

/// GPUs on which workers stand together: some of a number of domains, of which as many copies are used as there are.
struct Ground {
  int gpus = 1;
  int domain = 1;
  int copies = 1;
  /// Prefill and decode workers of a request are in one domain.
  [[nodiscard]] bool inside() const { return gpus <= domain; }
  [[nodiscard]] double places() const { return inside() ? gpus : std::ceil(static_cast<double>(gpus) / domain) * domain; }
  [[nodiscard]] Footprint of(const EngineLayout& l) const;
  /// Engines beside `others` GPUs' worth of other workers.
  [[nodiscard]] int held(const Footprint& each, const Footprint& others = {0, 0}) const {
    const double n = std::min((gpus - others.gpus) / each.gpus, (places() - others.places) / each.places);
    return std::max(0, static_cast<int>(std::floor(n + 1e-9)));
  }
};

/// A prefill worker and one prompt on it.
struct PrefillWorker {
  Engine engine;
  Prefill prompt;
  Footprint takes{};
  [[nodiscard]] double servers() const { return static_cast<double>(engine.layout().attention_dp) * engine.layout().pp; }
};
/// Whether as many of `a` as fit in the place of one `b` serve every load at least as well.
[[nodiscard]] bool dominates(const PrefillWorker& a, const PrefillWorker& b);
/// The workers that no other dominates.
[[nodiscard]] std::vector<PrefillWorker> undominated(const std::vector<PrefillWorker>& all);

/// Prefill workers beside decode workers of one batch on one ground, or on other machines.
struct Pairing {
  Ground ground;
  std::optional<Ground> apart{};  ///< of prefill workers
  Footprint prefill, decode;
  double servers = 1;  ///< of one prefill worker
  ApartWaits waits;
  double ttft = 0;  ///< s, limit; 0: none

  struct Found {
    Workers workers;
    double rate = 0;  ///< requests per second
  };
  [[nodiscard]] int prefills(int decodes) const {
    return apart ? apart->held(prefill) : ground.held(prefill, {decodes * decode.gpus, decodes * decode.places});
  }
  [[nodiscard]] int most_decodes() const { return apart ? ground.held(decode) : ground.held(decode, prefill); }
  [[nodiscard]] bool possible() const { return most_decodes() > 0 && prefills(1) > 0; }
  /// An upper bound of the requests per second with decode workers of at most `batch` sequences each.
  [[nodiscard]] double most(double batch) const;
  /// The same in whole numbers of workers, with at least `smallest` sequences each; tighter, and dearer to work out.
  [[nodiscard]] double most(double batch, double smallest) const;
  /// The numbers of workers with the most requests per second within the limit on TTFT, of equal ones those with the fewest decode
  /// workers; none where no numbers keep it. \param batch sequences of each decode worker
  [[nodiscard]] std::optional<Found> best(double batch) const;

 private:
  [[nodiscard]] double first_token(int decodes, double batch) const { return waits.ttft(decodes * batch, servers * prefills(decodes)); }
  [[nodiscard]] bool keeps(int decodes, double batch) const { return ttft <= 0 || first_token(decodes, batch) <= ttft; }
  [[nodiscard]] double rate(int decodes, double batch) const { return decodes * batch / (first_token(decodes, batch) + waits.answer); }
  /// The most decode workers beside which the limit is kept; 0: none.
  [[nodiscard]] int max_decodes(double batch) const;
  /// The number of decode workers from 1 to `last` with the highest `rate_of`, of equal ones the fewest.
  template <class Rate>
  [[nodiscard]] Found highest(int last, double batch, Rate&& rate_of) const;
  /// An upper bound of the rate of `low` to `high` decode workers.
  [[nodiscard]] double most_between(int low, int high, double batch) const;
};

}  // namespace fabricost::plan::detail
