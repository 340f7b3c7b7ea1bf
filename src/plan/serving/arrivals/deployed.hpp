#pragma once
/// One deployment under requests that arrive: what it answers at a rate, and up to which rate it keeps the limits. Private.

#include <fabricost/plan/serving/arrivals/loaded.hpp>

#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace fabricost::plan::detail {

inline constexpr double most_sequences = 8192;  ///< of a replica, as in the search
inline constexpr double closer = 1.011;         ///< 2^(1/64): rates that are told apart, six between two powers of two

/// The engine that answers.
[[nodiscard]] inline Engine engine_of(const ServingQuestion& q, const PricedServing& p, ServingMachine& machine) {
  return Engine{q.model, p.engine, q.format, machine}.sharing(p.apart ? 0 : q.common());
}

class Lateness;

/// Engines of one deployment, ready to be simulated.
class Deployed {
 public:
  /// \param reads the machine of prefill workers \param most requests per second of a closed loop
  Deployed(const ServingQuestion& q, const LoadQuestion& load, const System& system, ServingMachine& machine, ServingMachine& reads,
           const PricedServing& p, double most);

  /// \param rate requests per second of all engines; of a trace, its own times this over its rate
  /// \param judged what comes after limits are known to be broken is left out
  [[nodiscard]] std::pair<LoadFigures, Simulated> at(double rate, bool judged = false);

  /// What is seen at a rate if limits are kept.
  [[nodiscard]] std::optional<LoadFigures> kept_at(double rate);

  /// Whether, where prompts were read apart in the last simulation, prefill workers made more requests late than decode workers did.
  [[nodiscard]] bool reads_late() const { return late_.reading > late_.decoding; }

  /// Requests per second where more arrive than are answered: twice as many as are answered when all are there at once, so many that the
  /// engines fill and empty several times.
  [[nodiscard]] double saturation();

  /// Whether requests are answered as they come: in what was simulated, or, where that ends before a burst is answered, in the long run.
  [[nodiscard]] bool sustains(const LoadFigures& f, double rate);

  [[nodiscard]] bool limited() const { return load_.goodput > 0 || q_.ttft > 0 || q_.tpot > 0; }
  [[nodiscard]] bool within(const LoadFigures& f) const;
  [[nodiscard]] bool keeps(const LoadFigures& f, double rate) { return within(f) && sustains(f, rate); }

  /// The highest rate that is known to keep the limits, and the lowest known to break them. Percentiles near saturation are those of a draw:
  /// what is kept is therefore decided at rates that are the same whatever is asked, never at the asked one alone.
  [[nodiscard]] double kept() const { return kept_; }
  [[nodiscard]] double broken() const { return broken_; }
  /// What is answered per second at the highest that is kept, and all that is seen there.
  [[nodiscard]] double answered() const { return answered_; }
  [[nodiscard]] std::pair<LoadFigures, Simulated> at_kept() { return at(kept_); }

  /// Tries the next rate: of a trace all at once, then powers of two until one is kept and the next is not, then between them.
  /// \return false: they are close
  [[nodiscard]] bool narrow();

  /// The deployment with the times of its load, and the parts of the mean time of a token.
  [[nodiscard]] PricedServing priced(const LoadFigures& f, const Simulated& served) const;

 private:
  [[nodiscard]] Engine with_host(Engine engine) const;

  void read_apart(const System& system, ServingMachine& reads);
  /// Equal parts that the engines have: under their part of the requests they behave as all of them.
  [[nodiscard]] int equal_parts() const { return std::max(1, p_.apart ? std::gcd(engines_, prefills_) : engines_); }
  /// Simulates one in so many of the engines, and of the requests.
  void take_share(double share);

  /// Engines for each of a layout: without experts nothing joins replicas of attention.
  [[nodiscard]] int joined(const EngineLayout& layout) const { return q_.model.mixture() ? 1 : layout.attention_dp; }

  [[nodiscard]] Scheduler scheduler_of(const Engine& engine, const System& system) const;

  [[nodiscard]] KvTransfer sent_of(double prompt) const { return q_.sent(p_.link, prompt, prompt * alone_); }

  /// The engines' share of requests that are drawn. \param rate per second of all \param running of them \param of_answers the least
  /// variation of their lengths
  [[nodiscard]] RequestLoad drawn(double rate, int count = DrawnLoad{}.count, int running = 0, double of_answers = 0) const;

  [[nodiscard]] double measured_saturation();
  /// \param held requests that the engines have room for
  [[nodiscard]] double measured_saturation(double held);
  [[nodiscard]] Simulated simulated(const RequestLoad& load);

  /// Asks `broken` of each answered request, if the limits alone are asked for.
  template <class Broken>
  [[nodiscard]] EnoughKnown judging(Broken broken) {
    if (!judged_) return {};
    return [this, broken](std::size_t i, const Served& one) { return broken_early_ = broken(i, one); };
  }

  /// Prompts on some engines, answers on others.
  [[nodiscard]] Simulated apart(const RequestLoad& load, Lateness& late);

  const ServingQuestion& q_;
  const LoadQuestion& load_;
  PricedServing p_;
  Engine engine_;
  StepTimes times_;
  Scheduler scheduler_, prefill_scheduler_{};
  std::optional<Engine> prefill_{};
  std::optional<StepTimes> prefill_times_{};
  double alone_ = 0;  ///< s of a token of a prompt on prefill workers without other load
  int engines_ = 1, prefills_ = 0;
  double share_ = 1;  ///< of all engines over those simulated
  std::optional<double> saturation_{};
  double start_ = 0;                                                    ///< requests per second, a power of two near what a closed loop answers
  double kept_ = 0, broken_ = std::numeric_limits<double>::infinity();  ///< requests per second
  double answered_ = 0;
  bool tried_at_once_ = false;
  bool judged_ = false, broken_early_ = false;  ///< of the last simulation: whether it ends when limits are broken, and has done so
  struct {
    long long reading = 0, decoding = 0;  ///< requests whose cache comes too late already, and those that are late after it
  } late_{};
};

}  // namespace fabricost::plan::detail
