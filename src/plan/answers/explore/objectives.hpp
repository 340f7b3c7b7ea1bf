#pragma once
/// The objectives of an exploration: name, unit and direction of each, and its value from a plan. Private.

#include "answers/explore/axes.hpp"

#include <fabricost/plan/economics/compare.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan::explore {

/// The plan of one point, as far as objectives ask.
struct Found {
  Compared plan;
  double gpus = 0, mfu = 0;
  int gpus_per_node = 1;
};

struct Objective {
  std::string_view name, unit;
  bool more_is_better = false;
  std::optional<std::size_t> axis{};  ///< it is what is varied there
  std::optional<double> (*value)(const Found&) = nullptr;
  double (*limit)(const std::string& text, std::string_view named) = nullptr;  ///< reads one
  std::optional<double> most{};                                                ///< the limit: at most, or at least
  bool goodput = false;

  [[nodiscard]] bool holds(double x) const { return !most || (more_is_better ? x >= *most : x <= *most); }
};

/// Those named, or the usual ones: a step and dollars; tokens per user and dollars. Limits of others are added behind them as such.
/// \throws Refusal
struct Objectives {
  std::vector<Objective> all;
  std::size_t counted = 0;  ///< the first so many are objectives, the rest only limits

  /// Whether one is money, energy or power, which idle GPUs of a rack have their part in.
  [[nodiscard]] bool pay() const;
};
[[nodiscard]] Objectives objectives_of(const ExploreOptions& options, const std::vector<Axis>& axes, bool serving, std::string_view usual);

/// Goodput of a job by its GPUs and those of a node, at the failure rate of Llama 3's fleet; kept, from any thread.
class Goodputs {
 public:
  [[nodiscard]] double of(int gpus, int gpus_per_node);

 private:
  std::mutex guard_;
  std::map<std::pair<int, int>, double> known_;
};

/// One kind of price for all machines, the user's own first: the one that all have, else the one that most have. Which have it not, or the
/// reason where none has.
struct Priced {
  std::vector<Prices> of;  ///< by machine
  std::optional<PriceKind> kind{};
  std::string why{};
};
/// A machine, and its name in the request.
struct RequestedMachine {
  std::shared_ptr<const System> system;
  std::string asked;
};
[[nodiscard]] Priced prices_of(const ExploreOptions& options, const std::vector<RequestedMachine>& machines);
/// Leaves out dollars of another kind than all others'.
void drop_other_kinds(Compared& plan, const Priced& prices);

}  // namespace fabricost::plan::explore
