/// \file test_operations.cpp
/// Questions asked in C++: closed forms, rules that name fields, and requests that are answered again by what they filled in.

#include "catch.hpp"

#include <fabricost/plan/answers/pipeline.hpp>
#include <fabricost/plan/answers/stragglers.hpp>
#include <fabricost/plan/answers/transfer.hpp>

using namespace fabricost::plan;

namespace {

/// The message with which a request is refused; empty where it is answered.
template <class Request>
std::string refused(const Request& request) {
  try {
    (void)answer(request);
  } catch (const Refusal& refusal) {
    return refusal.what();
  }
  return {};
}

}  // namespace

TEST_CASE("A step waits for the slowest: exponential times, slow ones, a lost rail", "[answers]") {
  const StragglersAnswer a = answer(StragglersRequest{.ranks = 4,
                                                      .mean = units::s(1),
                                                      .deviation = units::s(1),
                                                      .shape = JitterShape::exponential,
                                                      .slow = {{0.01, 1.5}},
                                                      .rails = 8,
                                                      .network_share = 0.25});
  CHECK(a.step.value() == Approx(1 + 1. / 2 + 1. / 3 + 1. / 4));
  CHECK(*a.slow_factor == Approx(1 + 0.5 * (1 - std::pow(0.99, 4))));
  CHECK(a.rails_step->value() == Approx(a.step.value() * (1 + 0.25 / 7)));
  CHECK(a.shape == "exponential");
  CHECK(!a.times);

  const StragglersAnswer measured = answer(StragglersRequest{.times = TimesGiven{.file = {}, .seconds = {1, 2, 3}}, .ranks = 1});
  CHECK(measured.times == 3);
  CHECK(measured.step.value() == Approx(2));
  CHECK(!measured.barriers);
}

TEST_CASE("A pipeline that is asked again with everything filled in is the same", "[answers]") {
  const PipelineAnswer a =
      answer(PipelineRequest{.schedule = PipelineSchedule::one_f_one_b, .stages = 8, .microbatches = 24, .forward = units::s(1)});
  CHECK(a.bubble.value() == Approx(7 * 3));  // arXiv 2104.04473
  CHECK(a.by_stage().size() == 8);
  CHECK(a.by_stage().front().work.size() == a.run.bars.front().size());
  const PipelineAnswer again = answer(a.request);
  CHECK(again.request == a.request);
  CHECK(again.step == a.step);

  CHECK(worded<PipelineSchedule>("vpp") == PipelineSchedule::interleaved);
  CHECK(!worded<PipelineSchedule>(""));
  CHECK(refused(PipelineRequest{}).starts_with("which schedule? Add schedule, one of: none gpipe 1f1b"));
  CHECK(refused(PipelineRequest{
                    .schedule = PipelineSchedule::gpipe, .stages = 4, .microbatches = 8, .forward = units::s(1), .overlapped = units::s(1)})
            .starts_with("overlapped_seconds is for dualpipe"));
}

TEST_CASE("What moves outside of collectives", "[answers]") {
  IncastRequest met;
  CHECK(refused(met).starts_with("which machine? Add system"));
  met.system = Machine{"dgx-h100", {}};
  CHECK(refused(met) == "how many write at once? Add senders, as in senders = 8");
  met.senders = 8;
  met.bytes = units::GiB(1);
  const IncastAnswer all = answer(met);
  CHECK(all.time / all.alone == Approx(8).epsilon(0.01));

  StorageRequest load;
  load.system = met.system;
  load.nodes = 16;
  CHECK(refused(load) == "how much? Add bytes (all of it) or bytes_per_gpu");
  load.bytes = units::GB(810);
  CHECK(refused(load).starts_with("read from where? Add client = ethernet-100 or read_bytes_per_second"));
  load.client = "nvlink-4";
  CHECK(refused(load).starts_with("client = nvlink-4: no network reaches a store"));
  load.client = "ethernet-100";
  const StorageAnswer ways = answer(load);
  REQUIRE(ways.ways.size() == 3);
  CHECK(ways.ways[0].direct.value() == Approx(16 * ways.ways[1].direct.value()));

  AccessRequest access;
  access.system = met.system;
  access.bytes = {{units::B(64), units::B(-1)}};
  CHECK(refused(access).starts_with("bytes: -1"));
  access.bytes = {{units::B(64), units::KiB(4)}};
  const AccessAnswer lines = answer(access);
  CHECK(lines.in_flight == units::B(warp_window));
  CHECK(lines.sizes()[1].store == lines.store[1]);
}
