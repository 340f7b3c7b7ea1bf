// Every number of a machine that a program fills in by itself is either refused by name or gives finite times above zero.
#include <fabricost/plan/economics/power.hpp>
#include <fabricost/fabricost.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/network/topology_of.hpp>
#include <fabricost/plan/network/load_store.hpp>
#include <fabricost/plan/serving/kv_cache.hpp>

#include "catch.hpp"
#include "support/message_of.hpp"
#include "support/slow_build.hpp"
#include "support/systems.hpp"

using namespace fabricost::plan;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> bad_doubles{0, -1, 97, -1e-9, 1e-300, 1e300, infinite, -infinite, not_a_number, 1e19, 0.999};
const std::vector<int> bad_ints{0, -1, 1, 7, 9, 255, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};

struct Corruption {
  std::string what;
  std::function<void(System&)> apply;
};

template <class Get>
void add_double(std::vector<Corruption>& out, const std::string& name, Get get) {
  for (const double value : bad_doubles)
    out.push_back({name + " = " + std::to_string(value),
                   [get, value](System& s) { std::memcpy(static_cast<void*>(&get(s)), &value, sizeof value); }});
}
template <class Get>
void add_int(std::vector<Corruption>& out, const std::string& name, Get get) {
  for (const int value : bad_ints) out.push_back({name + " = " + std::to_string(value), [get, value](System& s) { get(s) = value; }});
}
template <class Get>
void add_kind(std::vector<Corruption>& out, const std::string& name, Get get) {
  for (const int value : {0, 3, 6, 7, 100, 255})
    out.push_back({name + " = " + std::to_string(value), [get, value](System& s) {
                     using Kind = std::remove_reference_t<decltype(get(s))>;
                     get(s) = static_cast<Kind>(value);
                   }});
}

/// All ways to spoil one field of a machine: those of the machine, of each tier, and of each fitted constant.
std::vector<Corruption> corruptions_of(const System& s) {
  std::vector<Corruption> out;
  add_int(out, "gpus_per_node", [](System& x) -> int& { return x.gpus_per_node; });
  add_int(out, "domain", [](System& x) -> int& { return x.domain; });
  add_int(out, "nodes", [](System& x) -> int& { return x.nodes; });
  add_kind(out, "generation", [](System& x) -> Generation& { return x.gpu.generation; });
  add_kind(out, "library", [](System& x) -> Library& { return x.library; });
  add_kind(out, "cpu", [](System& x) -> Cpu& { return x.cpu; });
  add_double(out, "memory", [](System& x) -> Bytes& { return x.gpu.memory.value; });
  add_double(out, "hbm_bandwidth", [](System& x) -> Bandwidth& { return x.gpu.hbm_bandwidth.value; });
  add_double(out, "fp16", [](System& x) -> FlopRate& { return x.gpu.fp16.value; });
  add_double(out, "bf16", [](System& x) -> FlopRate& { return x.gpu.bf16.value; });
  for (std::size_t i = 0; i < s.tiers.size(); ++i) {
    const std::string t = s.tiers[i].name.c_str() + std::string{"."};
    add_kind(out, t + "role", [i](System& x) -> TierRole& { return x.tiers[i].role; });
    add_kind(out, t + "kind", [i](System& x) -> TierKind& { return x.tiers[i].kind; });
    add_kind(out, t + "path", [i](System& x) -> NicPath& { return x.tiers[i].path; });
    add_int(out, t + "endpoints", [i](System& x) -> int& { return x.tiers[i].endpoints; });
    add_int(out, t + "links", [i](System& x) -> int& { return x.tiers[i].links; });
    add_int(out, t + "hops", [i](System& x) -> int& { return x.tiers[i].hops; });
    add_int(out, t + "shared_by", [i](System& x) -> int& { return x.tiers[i].shared_by; });
    add_int(out, t + "lost", [i](System& x) -> int& { return x.tiers[i].lost; });
    add_int(out, t + "first_stage", [i](System& x) -> int& { return x.tiers[i].first_stage; });
    add_int(out, t + "per_socket", [i](System& x) -> int& { return x.tiers[i].per_socket; });
    add_double(out, t + "bandwidth", [i](System& x) -> Bandwidth& { return x.tiers[i].bandwidth.value; });
    add_double(out, t + "link_bandwidth", [i](System& x) -> Bandwidth& { return x.tiers[i].link_bandwidth; });
    add_double(out, t + "planning_rate", [i](System& x) -> Bandwidth& { return x.tiers[i].planning_rate; });
    add_double(out, t + "latency", [i](System& x) -> Time& { return x.tiers[i].latency.value; });
    add_double(out, t + "nominal_latency", [i](System& x) -> Time& { return x.tiers[i].nominal_latency; });
    add_double(out, t + "efficiency", [i](System& x) -> double& { return x.tiers[i].efficiency; });
    add_double(out, t + "oversubscription", [i](System& x) -> double& { return x.tiers[i].oversubscription; });
  }
  const auto block = [&](const std::string& name, auto of) {
    using Block = std::remove_reference_t<decltype(of(std::declval<System&>()))>;
    for (std::size_t at = 0; at < sizeof(Block) / sizeof(double); ++at)
      for (const double value : {0.0, -1.0, 1e-300, 1e300, infinite, not_a_number})
        out.push_back({name + "[" + std::to_string(at) + "] = " + std::to_string(value), [of, at, value](System& x) {
                         std::memcpy(reinterpret_cast<char*>(&of(x)) + at * sizeof(double), &value, sizeof value);
                       }});
  };
  block("scale_up", [](System& x) -> ScaleUpConstants& { return x.constants.scale_up; });
  block("pcie", [](System& x) -> PcieConstants& { return x.constants.pcie; });
  block("transport", [](System& x) -> TransportConstants& { return x.constants.transport; });
  block("interval", [](System& x) -> IntervalWidths& { return x.constants.interval; });
  block("custom", [](System& x) -> CustomConstants& { return x.constants.custom; });
  return out;
}

bool is_time(double seconds) { return seconds > 0 && std::isfinite(seconds); }

/// Counts the questions to a machine; each gets a time, or is refused with a message that names the machine.
struct Tally {
  long asked = 0, refused = 0, wrong = 0;
  std::string first;
  void ask(const std::string& what, const System& s, const std::function<bool()>& question) {
    ++asked;
    try {
      if (question()) return;
    } catch (const RequestError&) {
      ++refused;
      return;
    }
    if (wrong++ == 0) first = s.name + ", " + what;
  }
};

void ask_all(Tally& tally, const std::string& what, const System& s) {
  for (std::size_t collective = 0; collective < collective_names.size(); ++collective)
    for (const int nodes : {1, 4})
      for (const auto rule : {Choice::Rule::nccl, Choice::Rule::fastest})
        for (const double bytes : {8.0, 1e10}) {
          const Operation op{.collective = static_cast<Collective>(collective), .bytes = Bytes::from_value(bytes), .nodes = nodes};
          Choice choice;
          choice.rule = rule;
          tally.ask(what + ", predict " + std::string{collective_names[collective]} + " on " + std::to_string(nodes), s, [&] {
            const Prediction p = predict(s, op, choice);
            return p.ranks < 2 || (is_time(p.seconds) && is_time(p.low) && is_time(p.high) && p.low <= p.seconds && p.seconds <= p.high);
          });
          if (bytes != 8.0 || rule != Choice::Rule::nccl) continue;
          tally.ask(what + ", compile", s, [&] {
            const Curve curve = compile(s, op, choice);
            return curve.fabric().ranks() < 2 || (is_time(curve.seconds(8)) && is_time(curve.seconds(1e6)) && is_time(curve.seconds(1e10)));
          });
        }
  Choice engine;
  engine.inference.library = InferenceLibrary::vllm;
  tally.ask(what + ", all_reduce of an engine", s, [&] {
    const Prediction p = predict(s, AllReduce{.bytes = units::KiB(64), .nodes = 1}, engine);
    return p.ranks < 2 || (is_time(p.seconds) && is_time(p.low) && is_time(p.high));
  });
  tally.ask(what + ", topology", s, [&] { return topology_of(s, 2).nodes == 2; });
  tally.ask(what + ", load_store", s, [&] { return is_time(load_store_line(s).start); });
  tally.ask(what + ", rdma", s, [&] { return is_time(rdma_line(s).start); });
  tally.ask(what + ", kv_link", s, [&] { return is_time(kv_link(s, 2, false).start); });
  tally.ask(what + ", processor", s, [&] { return is_time(Processor::of(s).peak16); });
}

}  // namespace

TEST_CASE("a machine with one field spoilt is refused by name or gives finite times above zero", "[predict][property]") {
  std::vector<System> machines{systems::hopper_box(), systems::pcie_box(), systems::rack(), systems::torus_cube(),
                               systems::cube_mesh_box()};
  for (System& s : machines) {
    s.gpu.fp16.value = s.gpu.bf16.value = FlopRate::from_value(1e15);
    s.gpu.hbm_bandwidth.value = Bandwidth::from_value(3e12);
    s.gpu.memory.value = units::GB(80);
    check(s);
    Tally tally;
    const std::vector<Corruption> all = corruptions_of(s);
    const std::size_t step = std::max<std::size_t>(1, all.size() / static_cast<std::size_t>(support::draws(static_cast<int>(all.size()))));
    for (std::size_t i = 0; i < all.size(); i += step) {
      const Corruption& c = all[i];
      System spoilt = s;
      c.apply(spoilt);
      ask_all(tally, c.what, spoilt);
    }
    INFO(tally.first);
    CHECK(tally.wrong == 0);
    CHECK(tally.refused > support::draws(1000));
    CHECK(tally.asked - tally.refused > support::draws(1000));
  }
}

TEST_CASE("what is wrong with a machine is named with its value and its range", "[predict]") {
  const auto says = [](auto spoil) {
    System s = systems::hopper_box();
    spoil(s);
    return support::message_of([&] {
      check(s);
      return 0;
    });
  };
  CHECK(says([](System& s) { s.gpus_per_node = 0; }) == "hopper-box: gpus_per_node is 0, outside 1 to 100000");
  CHECK(says([](System& s) { s.constants.scale_up.simple.rate_share = -1; }) ==
        "hopper-box: constants.scale_up.simple.rate_share is -1, outside 1e-06 to 100");
  CHECK(says([](System& s) { s.tiers[0].endpoints = 9; }) == "hopper-box: tier nvlink: endpoints is 9, it must be 8");
  CHECK(says([](System& s) { s.tiers[1].efficiency = 97; }) == "hopper-box: tier nic: efficiency is 97, outside 0.001 to 1");
  CHECK(support::contains(says([](System& s) { s.tiers[0].bandwidth.value = Bandwidth::from_value(not_a_number); }), "bandwidth is nan"));
  CHECK(support::contains(says([](System& s) { s.domain = 12; }), "nvlink: endpoints is 8, it must be 12"));
  CHECK(says([](System& s) {
          s.gpus_per_node = 3;
          s.domain = s.tiers[0].endpoints = 8;
        }) == "hopper-box: domain is 8, no multiple of the 3 gpus_per_node");
}

TEST_CASE("one prediction and a compiled curve refuse the same machines that check refuses", "[predict]") {
  const Operation op = AllReduce{.bytes = units::MiB(64), .nodes = 1};
  System none = systems::hopper_box(), negative = none, apart = none;
  none.gpus_per_node = 0;
  negative.constants.scale_up.nvls.floor = -1;
  apart.tiers[0].endpoints = 16;
  for (const System& s : {none, negative, apart}) {
    CHECK_THROWS_AS(predict(s, op), RequestError);
    CHECK_THROWS_AS(compile(s, op), RequestError);
    CHECK_THROWS_AS(check(s), RequestError);
  }
}
