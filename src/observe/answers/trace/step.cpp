/// \file step.cpp
/// Turns the ranks' time, by what it was spent on, into the terms of a step.

#include "answers/trace/step.hpp"

#include <algorithm>

namespace fabricost::observe::detail {

std::pair<double, std::vector<StepTerm>> step_of(const timeline::Job& job) {
  constexpr double nanoseconds = 1e9;
  std::pair<double, std::vector<StepTerm>> out{};
  const auto shown = std::count_if(job.ranks.begin(), job.ranks.end(), [](const RankTrace& one) { return one.shows_compute; });
  if (shown == 0) return out;
  const double share = 1 / (static_cast<double>(shown) * std::max(1, job.steps));
  const auto add = [&](std::string name, auto&& part) {
    double seconds = 0;
    for (const timeline::Spent& one : job.spent) seconds += static_cast<double>(part(one)) / nanoseconds * share;
    if (seconds > 0) out.second.push_back({std::move(name), units::s(seconds)});
    out.first += seconds;
  };
  add("compute", [](const timeline::Spent& s) { return s.compute; });
  for (const timeline::Kind kind :
       {timeline::Kind::tensor, timeline::Kind::context, timeline::Kind::expert, timeline::Kind::pipeline, timeline::Kind::data,
        timeline::Kind::unknown})
    add(kind == timeline::Kind::unknown ? "other communication" : std::string{timeline::name(kind)},
        [&](const timeline::Spent& s) { return s.exposed[static_cast<std::size_t>(kind)]; });
  add("bubble", [](const timeline::Spent& s) { return s.bubble; });
  add("waiting", [](const timeline::Spent& s) { return s.waiting; });
  add("copies", [](const timeline::Spent& s) { return s.copies; });
  add("idle", [](const timeline::Spent& s) { return s.idle; });
  return out;
}

}  // namespace fabricost::observe::detail
