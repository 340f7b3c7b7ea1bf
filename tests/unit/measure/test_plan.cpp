// The points worth measuring, on machines of every kind.
#include "fake_device.hpp"
#include "measure/plan/plan.hpp"
#include "support/message_of.hpp"

#include <fabricost/calibrate/probes.hpp>
#include <fabricost/error.hpp>

#include "catch.hpp"

using namespace fake;

namespace {

Plan plan_of(const Traits& traits, const PlanOptions& options = {.quick = true}) {
  FakeDevice device(traits);
  return plan(device.describe(), traits.processes, options);
}

bool has(const Plan& plan, ProbeKind kind) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& s) { return s.what.kind == kind; });
}

bool says(const Plan& plan, const std::string& part) {
  return std::any_of(plan.not_measured.begin(), plan.not_measured.end(),
                     [&](const NotMeasured& n) { return (n.what + ": " + n.reason).find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("every collective is measured over all GPUs, and the points that narrow the model most come before any curve") {
  const Plan all = plan_of({.gpus = 8});
  std::set<Collective> seen;
  std::size_t first_curve = all.steps.size();
  for (std::size_t i = 0; i < all.steps.size(); ++i) {
    const Step& s = all.steps[i];
    if (s.what.kind == ProbeKind::collective && s.refine && s.what.gpus.size() == 8) seen.insert(s.what.operation);
    if (s.refine) first_curve = std::min(first_curve, i);
  }
  CHECK(seen.size() == collective_names.size());
  for (const Probe& probe : quick_probes) {
    const auto found = std::find_if(all.steps.begin(), all.steps.end(), [&](const Step& s) {
      return s.what.kind == ProbeKind::collective && !s.refine && s.what.operation == probe.op &&
             s.what.gpus.size() == (probe.pair ? 2U : 8U) && s.sizes.front() == static_cast<std::uint64_t>(probe.bytes);
    });
    REQUIRE(found != all.steps.end());
    CHECK(static_cast<std::size_t>(found - all.steps.begin()) < first_curve);
  }
}

TEST_CASE("the full plan forces algorithms and protocols, turns in-switch reduction off, and varies type and ranks") {
  const Plan all = plan_of({.gpus = 8}, {});
  std::set<std::string> titles;
  for (const Step& s : all.steps) titles.insert(title_of(s.what));
  for (const char* title :
       {"all_reduce on 8 GPUs, half, ring ll", "all_reduce on 8 GPUs, half, tree ll128", "all_reduce on 8 GPUs, half, nvls simple",
        "all_reduce on 8 GPUs, half, nvls off", "all_reduce on 8 GPUs, float", "all_reduce on 4 GPUs, half",
        "all_reduce on 8 GPUs, half, in place", "all_gather on 8 GPUs, half, registered",
        "all_reduce on 8 GPUs, half, registered symmetric", "peer_copy, GPU 3>5", "memory_copy, GPU 0, cold L2",
        "host_to_device, GPUs 0 1 2 3 4 5 6 7 at once, pinned",
        "host_read, GPU 0, pinned, both ways"})
    CHECK(titles.count(title) == 1);
}

TEST_CASE("without peer access copies stay and kernels go, with the GPUs named") {
  const Plan apart = plan_of({.gpus = 4, .peers = false});
  CHECK(has(apart, ProbeKind::peer_copy));
  CHECK_FALSE(has(apart, ProbeKind::peer_load));
  CHECK(says(apart, "no peer access between GPU 0 and GPU 1"));
  CHECK(has(apart, ProbeKind::collective));
}

TEST_CASE("no case asks for more than a quarter of what memory is free") {
  for (const Step& s : plan_of({.gpus = 8, .memory = 4 * GiB}, {}).steps)
    for (const std::uint64_t size : s.sizes) CHECK(size <= GiB);
}

TEST_CASE("only what was asked for is planned, by group, by probe and by operation") {
  for (const Step& s : plan_of({.gpus = 8}, {.only = {"memory"}}).steps) CHECK(type_of(s.what.kind).group == ProbeGroup::memory);
  for (const Step& s : plan_of({.gpus = 8}, {.only = {"Peer-Copy"}}).steps) CHECK(s.what.kind == ProbeKind::peer_copy);
  for (const Step& s : plan_of({.gpus = 8}, {.only = {"all_gather"}}).steps) CHECK(s.what.operation == Collective::all_gather);
  CHECK(plan_of({.gpus = 1}, {.only = {"memory"}}).not_measured.empty());
  CHECK(plan_of({.gpus = 1}, {.only = {"collectives"}}).steps.empty());
}

TEST_CASE("a word that is nothing measured and a GPU that is not there are refused with what would do") {
  const auto refused = [](const PlanOptions& options) { return support::message_of([&] { return plan_of({.gpus = 4}, options); }); };
  CHECK(refused({.only = {"memry"}}).find("memory") != std::string::npos);
  CHECK(refused({.only = {"zzzzzzzz"}}).find("memory launch host peer") != std::string::npos);
  CHECK(refused({.gpus = {4}}).find("GPUs 0 to 3") != std::string::npos);
  CHECK(refused({.gpus = {1, 1}}).find("twice") != std::string::npos);
}

TEST_CASE("GPUs that were named are the ones measured") {
  for (const Step& s : plan_of({.gpus = 8}, {.gpus = {2, 5}}).steps) {
    for (const int gpu : s.what.gpus) CHECK((gpu == 2 || gpu == 5));
    for (const auto& [from, to] : s.what.pairs) CHECK((from == 2 || from == 5));
    if (s.what.gpus.empty() && s.what.pairs.empty()) CHECK((s.what.gpu == 2 || s.what.gpu == 5));
  }
}
