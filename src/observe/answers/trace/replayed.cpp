/// \file replayed.cpp
/// Replays the job on the requested machine, at both ends of the uncertain quantities, and once more for each change.

#include "answers/trace/elsewhere.hpp"
#include "answers/trace/step.hpp"

#include <fabricost/hardware/dials.hpp>
#include <fabricost/hardware/slice.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe::detail {

namespace {

/// \throws Refusal for a word that says nothing
[[nodiscard]] std::vector<timeline::Without> left_out(const std::vector<std::string>& words) {
  std::vector<timeline::Without> out;
  for (const std::string& word : words) {
    const auto known = parse_enum<timeline::Without>(word, timeline::without_names);
    if (!known || *known == timeline::Without::nothing)
      throw Refusal(fmt::format("<without>: {} is neither straggler nor wait", word.empty() ? "an empty word" : word));
    if (std::find(out.begin(), out.end(), *known) == out.end()) out.push_back(*known);
  }
  return out;
}

struct Changed {
  std::string words;
  System system;
};
/// The machine with one part doubled, for each part that could be bought.
[[nodiscard]] std::vector<Changed> bought(const System& system) {
  std::vector<Changed> out;
  const auto add = [&](const char* words, Dial dial) {
    try {
      out.push_back({words, with_dial(system, dial, 2 * value_of(system, dial))});
    } catch (const RequestError&) {  // the machine has no such part
    }
  };
  if (system.tier(TierRole::nic) != nullptr) add("NICs of twice the rate", Dial::nic_bandwidth);
  if (system.tier(TierRole::scale_up) != nullptr) {
    add("scale-up links of twice the rate", Dial::scale_up_bandwidth);
    add("a domain of twice the GPUs", Dial::domain);
  }
  add("memory of twice the rate", Dial::hbm_bandwidth);
  add("twice the arithmetic", Dial::arithmetic);
  return out;
}

}  // namespace

void say_replay(const TraceRequest& request, const timeline::Job& job, TraceMachine& here, TraceAnswer& answer) {
  const std::vector<timeline::Without> without = left_out(request.without);
  if (request.on && here.system() == nullptr)
    throw Refusal("which machine are the traces of? Name it with <system>, to compare it with that of <on>", true);
  if (job.ranks.empty() || answer.step <= Time{}) throw RequestError("the traces show no work of a GPU that could be replayed");
  auto asked = request.on ? request.on.get(request.overrides) : nullptr;
  if (asked && asked->pod > 0) asked = std::make_shared<const System>(slice_for(*asked, here.world()));
  std::optional<TraceMachine> there;
  if (asked) there.emplace(request, asked, answer.notes);
  Exchange exchange(job, &here, there ? &*there : nullptr);
  TraceReplay& out = answer.replay.emplace();
  out.system = asked ? asked->name : here.system() != nullptr ? here.system()->name : "";
  const timeline::Replay middle = timeline::replay(job, exchange.at(End::middle));
  auto [step, terms] = step_of(middle.job);
  out.step = units::s(step);
  out.terms = std::move(terms);
  out.assumed = exchange.assumed();
  out.ratio = out.step / answer.step;
  const double steps = 1e9 * std::max(1, job.steps);
  for (const auto& [name, ns] : middle.path) out.path.push_back({name, units::s(ns / steps)});
  std::stable_sort(out.path.begin(), out.path.end(), [](const StepTerm& a, const StepTerm& b) { return a.time > b.time; });
  const auto step_at = [&](Exchange& how, End end, timeline::Without less) {
    return units::s(step_of(timeline::replay(job, how.at(end), less).job).first);
  };
  out.interval = {out.step, out.step};
  if (asked) {
    out.interval = {std::min(out.step, step_at(exchange, End::fast, timeline::Without::nothing)),
                    std::max(out.step, step_at(exchange, End::slow, timeline::Without::nothing))};
  }
  const auto change = [&](std::string words, Time after) {
    if (after > Time{}) out.changes.push_back({std::move(words), after, out.step / after - 1});
  };
  for (const timeline::Without one : without) {
    if (job.ranks.size() < 2) answer.notes.emplace_back("One rank is traced: who waits for whom, and how long, cannot be told.");
    change(fmt::format("without {}", timeline::without_names[static_cast<std::size_t>(one)]), step_at(exchange, End::middle, one));
  }
  if (here.system() == nullptr) return;
  std::vector<std::string> ignored;
  for (Changed& one : bought(asked ? *asked : *here.system())) {
    TraceMachine machine(request, std::make_shared<const System>(std::move(one.system)), ignored);
    Exchange other(job, &here, &machine);
    change(std::move(one.words), step_at(other, End::middle, timeline::Without::nothing));
  }
  std::stable_sort(out.changes.begin(), out.changes.end(), [](const TracedChange& a, const TracedChange& b) { return a.gain > b.gain; });
}

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
