/// \file attempt.cpp
/// Converts exceptions of a device to outcomes that all processes agree on.

#include "measure/attempt.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace fabricost::probes::measure {

namespace {

using Kind = Attempt::Kind;

/// Runs `work` and records how it failed, if it did.
Attempt caught(const std::function<void(Attempt&)>& work) {
  Attempt out;
  const auto failed = [&out](Kind kind, const std::exception& error) {
    out.kind = kind;
    out.reason = error.what();
  };
  try {
    work(out);
  } catch (const Unsupported& error) {
    failed(Kind::unsupported, error);
  } catch (const OutOfMemory& error) {
    failed(Kind::out_of_memory, error);
  } catch (const WrongResult& error) {
    failed(Kind::wrong_result, error);
  } catch (const DeviceFault& error) {
    failed(Kind::fault, error);
  } catch (const DeviceLost& error) {
    failed(Kind::lost, error);
  }
  return out;
}

/// Replaces the outcome of every process by the worst of all.
void agree(Device& device, Attempt& own) {
  constexpr std::array worst_first{Kind::lost, Kind::wrong_result, Kind::fault, Kind::out_of_memory, Kind::unsupported, Kind::refused};
  if (!device.any(own.kind != Kind::measured)) return;
  for (const Kind kind : worst_first) {
    if (!device.any(own.kind == kind)) continue;
    own.kind = kind;
    if (own.reason.empty()) own.reason = "another process reported it";
    return;
  }
}

}  // namespace

Attempt attempt(Device& device, const Case& what, const SampleRules& rules, const Clock& now) {
  std::unique_ptr<Job> job;
  Attempt out = caught([&](Attempt&) { job = device.prepare(what); });
  agree(device, out);
  if (out.kind != Kind::measured) return out;
  out = caught([&](Attempt& a) {
    a.sample = take_sample(device, *job, what, rules, now);
    a.in_graphs = job->in_graphs();
    if (a.sample.refused.empty()) return;
    a.kind = Kind::refused;
    a.reason = a.sample.refused;
  });
  agree(device, out);
  return out;
}

std::vector<State> states_of(Device& device, const Machine& machine) {
  std::vector<State> out;
  const Attempt seen = caught([&](Attempt&) {
    for (int unit = 0; unit < static_cast<int>(machine.units.size()); ++unit) out.push_back(device.state(unit));
  });
  if (seen.kind != Kind::measured) out.clear();
  return out;
}

}  // namespace fabricost::probes::measure
