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
[[nodiscard]] std::vector<laid::Without> left_out(const std::vector<std::string>& words) {
  std::vector<laid::Without> out;
  for (const std::string& word : words) {
    const auto known = parse_enum<laid::Without>(word, laid::without_names);
    if (!known || *known == laid::Without::nothing)
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

void say_replay(const TraceRequest& request, const laid::Job& job, TraceMachine& here, TraceAnswer& answer) {
  const std::vector<laid::Without> without = left_out(request.without);
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
  const laid::Replay middle = laid::replay(job, exchange.at(End::middle));
  auto [step, terms] = step_of(middle.job);
  out.step = units::s(step);
  out.terms = std::move(terms);
  out.assumed = exchange.assumed();
  out.ratio = out.step / answer.step;
  const double steps = 1e9 * std::max(1, job.steps);
  for (const auto& [name, ns] : middle.path) out.path.push_back({name, units::s(ns / steps)});
  std::stable_sort(out.path.begin(), out.path.end(), [](const StepTerm& a, const StepTerm& b) { return a.time > b.time; });
  const auto step_at = [&](Exchange& how, End end, laid::Without less) {
    return units::s(step_of(laid::replay(job, how.at(end), less).job).first);
  };
  out.interval = {out.step, out.step};
  if (asked) {
    out.interval = {std::min(out.step, step_at(exchange, End::fast, laid::Without::nothing)),
                    std::max(out.step, step_at(exchange, End::slow, laid::Without::nothing))};
  }
  const auto change = [&](std::string words, Time after) {
    if (after > Time{}) out.changes.push_back({std::move(words), after, out.step / after - 1});
  };
  for (const laid::Without one : without) {
    if (job.ranks.size() < 2) answer.notes.emplace_back("One rank is traced: who waits for whom, and how long, cannot be told.");
    change(fmt::format("without {}", laid::without_names[static_cast<std::size_t>(one)]), step_at(exchange, End::middle, one));
  }
  if (here.system() == nullptr) return;
  std::vector<std::string> ignored;
  for (Changed& one : bought(asked ? *asked : *here.system())) {
    TraceMachine machine(request, std::make_shared<const System>(std::move(one.system)), ignored);
    Exchange other(job, &here, &machine);
    change(std::move(one.words), step_at(other, End::middle, laid::Without::nothing));
  }
  std::stable_sort(out.changes.begin(), out.changes.end(), [](const TracedChange& a, const TracedChange& b) { return a.gain > b.gain; });
}

}  // namespace fabricost::observe::detail
