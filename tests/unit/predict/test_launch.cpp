// Who launches a collective: a call takes the GPUs' time and the host's beside each other.
#include "catch.hpp"
#include "support/systems.hpp"

#include <fabricost/fabricost.hpp>

using namespace fabricost::core;
using namespace fabricost::core::units;

namespace {

Prediction launched(const System& s, const Operation& op, LaunchMode mode, unsigned short gpus = 0) {
  return predict(s, op, {.launch = {.mode = mode, .gpus = gpus}});
}
double sum_of(const Prediction& p) {
  double out = 0;
  for (const Term& t : p.terms) out += t.time.value();
  return out;
}

}  // namespace

TEST_CASE("one process for all GPUs holds small messages, the GPUs large ones", "[predict]") {
  System s = systems::hopper_box();
  s.host_launch.value = us(5);
  const Prediction small = launched(s, AllGather{.bytes = KiB(1), .ranks = 8}, LaunchMode::one_process);
  const double gpu = predict(s, AllGather{.bytes = KiB(1), .ranks = 8}).seconds;
  CHECK(small.seconds == Approx(std::pow(std::pow(gpu, 4) + std::pow(40e-6, 4), 0.25)));
  CHECK(small.made_from.gpu_seconds == gpu);
  CHECK(sum_of(small) == Approx(small.seconds));
  CHECK(small.terms[static_cast<int>(small.terms.size()) - 1].tier == "host");
  CHECK((small.low < small.seconds && small.seconds < small.high));
  const Prediction large = launched(s, AllGather{.bytes = GiB(1), .ranks = 8}, LaunchMode::one_process);
  CHECK(large.seconds == Approx(predict(s, AllGather{.bytes = GiB(1), .ranks = 8}).seconds));
  CHECK(launched(s, AllGather{.bytes = KiB(1), .ranks = 4}, LaunchMode::one_process).made_from.host.seconds() == Approx(20e-6));
}

TEST_CASE("the GPUs a process drives count, not those that a message crosses", "[predict]") {
  System s = systems::hopper_box();
  s.host_launch.value = us(5);
  const ScaleUpForm& form = s.constants.scale_up.form;
  const Prediction p = launched(s, SendRecv{.bytes = KiB(1)}, LaunchMode::one_process, 8);
  CHECK(p.made_from.host.seconds() == Approx(8 * (5e-6 + 2 * form.host_peer)));
  CHECK(p.seconds > p.made_from.host.seconds());
  CHECK(p.made_from.host.gpus == 8);
  const Prediction all = launched(s, AllToAll{.bytes = KiB(1), .ranks = 8}, LaunchMode::threads);
  CHECK(all.made_from.host.seconds() == Approx(8 * (5e-6 + 16 * form.host_peer) * form.host_threads));
}

TEST_CASE("a machine whose processor was not measured has the prior's launch, and is less sure", "[predict]") {
  System s = systems::hopper_box();
  const Operation op = AllReduce{.bytes = Bytes::from_value(8), .ranks = 8};
  const Prediction unknown = launched(s, op, LaunchMode::one_process);
  CHECK(unknown.made_from.host.seconds() == Approx(8 * s.constants.scale_up.form.host_gpu));
  s.host_launch.value = Time::from_value(s.constants.scale_up.form.host_gpu);
  const Prediction known = launched(s, op, LaunchMode::one_process);
  CHECK(known.seconds == Approx(unknown.seconds));
  CHECK(known.high < unknown.high);
}

TEST_CASE("a graph, a queue and unknown libraries pay no launches; a process per GPU hides them", "[predict]") {
  const System s = systems::hopper_box();
  const Operation op = AllReduce{.bytes = KiB(1), .ranks = 8};
  const double gpu = predict(s, op).seconds;
  for (const LaunchMode mode : {LaunchMode::graph, LaunchMode::queued}) CHECK(launched(s, op, mode).seconds == gpu);
  CHECK(launched(s, op, LaunchMode::process).seconds == Approx(gpu).epsilon(0.01));
  System intel = s;
  intel.library = Library::oneccl;
  CHECK(launched(intel, op, LaunchMode::one_process).seconds == predict(intel, op).seconds);
}

TEST_CASE("between domains, too, one process launches on all GPUs of its node; a process per GPU is what was measured", "[predict]") {
  const System s = systems::hopper_box();
  const ScaleUpForm& form = s.constants.scale_up.form;
  for (const Operation& two : {Operation(Broadcast{.bytes = KiB(1), .ranks = 16}), Operation(AllToAll{.bytes = KiB(1), .ranks = 16})}) {
    const Prediction process = launched(s, two, LaunchMode::process);
    CHECK(process.seconds == launched(s, two, LaunchMode::queued).seconds);
    CHECK(process.made_from.host.seconds() == 0);
    const double messages = two.collective == Collective::all_to_all ? 2 * 16 : 0, host = 8 * (form.host_gpu + messages * form.host_peer);
    const Prediction one = launched(s, two, LaunchMode::one_process);
    CHECK(one.made_from.host.seconds() == Approx(host));
    CHECK(std::pow(one.seconds, 4) == Approx(std::pow(process.seconds, 4) + std::pow(host, 4)));
    CHECK(launched(s, two, LaunchMode::threads).made_from.host.seconds() == Approx(form.host_threads * host));
    CHECK(sum_of(one) == Approx(one.seconds));
  }
  // a node with one GPU in it has one process whatever is asked
  const Operation apart = AllReduce{.bytes = KiB(1), .ranks = 2, .nodes = 2};
  CHECK(launched(s, apart, LaunchMode::one_process).seconds == launched(s, apart, LaunchMode::process).seconds);
}

TEST_CASE("calls of RCCL pay launches of their own, beside the GPUs from C++, before them from Python", "[predict]") {
  System s = systems::full_mesh_box();
  s.library = Library::rccl;
  const ScaleUpForm& form = s.constants.scale_up.form;
  for (const Operation& op : {Operation(AllReduce{.bytes = KiB(1), .ranks = 8}), Operation(AllGather{.bytes = KiB(1), .ranks = 4})}) {
    const double gpu = predict(s, op).seconds;
    const Prediction one = launched(s, op, LaunchMode::one_process), alone = launched(s, op, LaunchMode::eager);
    CHECK(one.made_from.host.seconds() == Approx(op.ranks * form.rccl_host_gpu));
    CHECK(std::pow(one.seconds, 4) == Approx(std::pow(gpu, 4) + std::pow(op.ranks * form.rccl_host_gpu, 4)));
    CHECK(alone.seconds == Approx(gpu + form.rccl_call));
    for (const Prediction* p : {&one, &alone}) {
      CHECK(sum_of(*p) == Approx(p->seconds));
      CHECK((p->low < p->seconds && p->seconds < p->high));
    }
  }
  const Operation two = AllReduce{.bytes = KiB(1), .ranks = 16};  // between nodes as inside: the GPUs wait for each call
  CHECK(launched(s, two, LaunchMode::eager).seconds == Approx(predict(s, two).seconds + form.rccl_call));
}

TEST_CASE("a module of XLA adds its own time", "[predict]") {
  const System s = systems::hopper_box();
  const Operation op = AllReduce{.bytes = MiB(1), .ranks = 8};
  const Prediction p = launched(s, op, LaunchMode::xla);
  CHECK(p.seconds == Approx(predict(s, op).seconds + s.constants.scale_up.form.host_module));
  CHECK(sum_of(p) == Approx(p.seconds));
}

TEST_CASE("around a collective of RCCL it stands beside the GPUs, longer with more ranks and messages", "[predict]") {
  System s = systems::hopper_box();
  s.library = Library::rccl;
  const ScaleUpForm& form = s.constants.scale_up.form;
  const auto module = [&](const Operation& op) {
    const Prediction p = launched(s, op, LaunchMode::xla);
    CHECK(sum_of(p) == Approx(p.seconds));
    CHECK((p.low < p.seconds && p.seconds < p.high));
    return std::pow(std::pow(p.seconds, 4) - std::pow(predict(s, op).seconds, 4), 0.25);
  };
  CHECK(module(AllReduce{.bytes = KiB(1), .ranks = 2}) == Approx(form.rccl_module + 2 * form.rccl_module_rank));
  CHECK(module(AllGather{.bytes = KiB(1), .ranks = 8}) == Approx(form.rccl_module + 8 * form.rccl_module_rank));
  CHECK(module(AllToAll{.bytes = KiB(1), .ranks = 8}) ==
        Approx(form.rccl_module + 8 * form.rccl_module_rank + 16 * form.rccl_module_peer));
  const Operation large = AllReduce{.bytes = GiB(1), .ranks = 8};
  CHECK(launched(s, large, LaunchMode::xla).seconds == Approx(predict(s, large).seconds).epsilon(0.001));
}

TEST_CASE("all ranks of a send_recv's communicator launch, so that more of them wait longer", "[predict]") {
  const System s = systems::hopper_box();
  const auto host = [&](int ranks, LaunchMode mode) {
    return predict(s, SendRecv{.bytes = KiB(1), .ranks = ranks}, {.launch = {.mode = mode}}).made_from.host;
  };
  for (const LaunchMode mode : {LaunchMode::threads, LaunchMode::one_process}) {
    CHECK(host(2, mode).gpus == 2);
    CHECK(host(8, mode).gpus == 8);
    CHECK(host(8, mode).seconds() == Approx(4 * host(2, mode).seconds()));
  }
  CHECK(host(8, LaunchMode::process).seconds() == host(2, LaunchMode::process).seconds());
}

TEST_CASE("sweep launches as predict does, and compile's curve is the GPUs' time", "[predict]") {
  const System s = systems::hopper_box();
  const Choice choice{.launch = {.mode = LaunchMode::one_process}};
  const Operation op = Broadcast{.bytes = KiB(64), .ranks = 8};
  const std::vector<Bytes> sizes{KiB(64)};
  const Prediction one = predict(s, op, choice);
  CHECK(sweep(s, op, sizes, choice).front().seconds == one.seconds);
  CHECK(compile(s, op, choice)(KiB(64)).value() == Approx(one.made_from.gpu_seconds));
  CHECK(one.made_from.gpu_seconds < predict(s, op).seconds);  // call after call, a broadcast waits for one step
}

TEST_CASE("an older or unknown release widens the interval inside a domain", "[predict]") {
  System s = systems::ampere_box();
  const Operation op = AllReduce{.bytes = MiB(1), .ranks = 8};
  const auto width = [&] {
    const Prediction p = predict(s, op);
    return std::log(p.high / p.seconds);
  };
  const double known = width();
  s.tuner_assumed = true;
  const double unknown = width();
  CHECK(unknown == Approx(std::sqrt(known * known + s.constants.interval.unknown_library * s.constants.interval.unknown_library)));
  s.tuner_assumed = false;
  s.tuner = tuner_of_version(2, 23);  // measured on Hopper alone
  const double own = tables_of(s.tuner).kernel_width, unseen = s.constants.interval.unknown_library;
  CHECK(width() == Approx(std::sqrt(known * known + own * own + unseen * unseen)));
  s.gpu.generation = Generation::hopper;
  CHECK(width() < std::sqrt(known * known + own * own + unseen * unseen));
  s = systems::ampere_box();
  s.tuner_assumed = true;
  s.tuner = tuner_of_version(2, 8);
  CHECK(width() > unknown);
  CHECK(predict(s, op).seconds > 1.5 * predict(systems::ampere_box(), op).seconds);
}
