#pragma once
/// The axes of an exploration, and the machine, question and counts at each point. Axes that need files or options read anew (machines,
/// GPUs, values of files, options) are the outer loops, parameters and counts the inner ones. Private.

#include "answers/varied/varied.hpp"

#include <fabricost/plan/answers/design/explore.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan::explore {

struct Axis {
  ExploreAxis shown;
  varied::Varied what;

  /// Its values have no order.
  [[nodiscard]] bool named() const { return !shown.words.empty(); }
  [[nodiscard]] std::string written(std::size_t place) const {
    return named() ? shown.words[place] : varied::written(what, shown.values[place]);
  }
};

/// The axes in the order given. \param given the machine, if it is not varied \param options of the question \throws Refusal for axes
/// that are unknown, given twice or without values
[[nodiscard]] std::vector<Axis> axes_of(const std::vector<std::string>& vary, const Machine& given, bool serving,
                                        const std::vector<varied::Option>& options);

/// Points of the nested loops, the last axis fastest. \throws Refusal for more than 10^9
[[nodiscard]] long long points_of(const std::vector<Axis>& axes);
/// Place on each axis of a point.
[[nodiscard]] std::vector<std::size_t> places_of(const std::vector<Axis>& axes, long long number);

/// Counts of the job at a point; none: as the request has it.
struct Job {
  std::optional<int> gpus{}, nodes{}, batch{}, sequence{}, isl{}, osl{};
};

/// One combination of the values that are read anew.
struct Variant {
  Machine machine;
  std::vector<std::string> overrides;  ///< of the machine, beside the request's
  std::string asked;                   ///< the name in the request
  std::vector<std::pair<std::string, std::string>> options;
};
/// \throws Refusal where no machine is named, or a value of its file is varied in one that was made already
[[nodiscard]] std::vector<Variant> variants_of(const std::vector<Axis>& axes, const Machine& given);

/// Which of the variants a point has.
[[nodiscard]] std::size_t variant_of(const std::vector<Axis>& axes, const std::vector<std::size_t>& places);

/// The machine of a point, its parameters changed (the domain first: NICs follow it), and the job's counts. \throws RequestError as
/// with_parameter
[[nodiscard]] System machine_at(const std::vector<Axis>& axes, const std::vector<std::size_t>& places, const System& whole, Job& job);

}  // namespace fabricost::plan::explore
