// An explanation prints a prediction's own numbers for any question: engines' kernels, calls from Python, norms, experts, transfers.
#include "catch.hpp"

#include "support/message_of.hpp"

#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/explain/transfer.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>

using namespace fabricost::plan;

namespace {

const System& machine(const std::string& name) {
  static std::map<std::string, System> loaded;
  const auto at = loaded.find(name);
  return at != loaded.end() ? at->second : loaded.emplace(name, load_system(name)).first->second;
}

struct Row {
  std::string name, tier, us;
  bool operator==(const Row&) const = default;
};

/// The rows of the table of terms, its total last.
std::vector<Row> stated_terms(const std::string& context) {
  const auto from = context.find("The terms, which sum to the time\n"), to = context.find("\n\n", from);
  REQUIRE(from != std::string::npos);
  const std::string table = context.substr(from, to - from);
  std::vector<Row> out;
  const std::regex line(R"re(\n  (\S.*?)  +(?:(\S+)  +)?(-?[0-9.]+) +-?[0-9.]+ %)re");
  for (std::sregex_iterator i(table.begin(), table.end(), line), end; i != end; ++i) out.push_back({(*i)[1], (*i)[2], (*i)[3]});
  return out;
}
std::string micro(double seconds) { return fmt::format("{:.3f}", seconds * 1e6); }
template <class Terms>
std::vector<Row> own_terms(const Terms& terms, double seconds) {
  std::vector<Row> out;
  for (const Term& t : terms) out.push_back({std::string{t.name.view()}, std::string{t.tier.view()}, micro(t.time.value())});
  out.push_back({"total", "", micro(seconds)});
  return out;
}

/// A question about any machine; some of them cannot be answered.
struct Asked {
  std::string system;
  Operation op;
  Choice choice;
};
Asked random_question(std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  static const std::vector<SystemName> names = system_names();
  Asked out{.system = names[below(names.size())].name, .op = {}, .choice = {}};
  out.op.collective = static_cast<Collective>(below(collective_names.size()));
  out.op.dtype = below(4) == 0 ? DataType::int8 : DataType::half;
  out.op.bytes = Bytes::from_value(std::floor(std::exp2(static_cast<double>(below(3500)) / 100)));
  const System& system = machine(out.system);
  out.op.nodes = below(3) == 0 ? static_cast<int>(1 + below(8)) : 0;
  if (out.op.nodes <= 1 && below(2) == 0) out.op.ranks = static_cast<int>(1 + below(static_cast<std::size_t>(system.gpus_per_node)));
  if (out.op.collective == Collective::send_recv) out.op.path = static_cast<Path>(below(path_names.size()));
  if (below(6) == 0) out.choice.rule = Choice::Rule::fastest;
  if (below(6) == 0) out.choice.algorithm = static_cast<Algorithm>(below(algorithm_names.size()));
  if (below(6) == 0) out.choice.protocol = static_cast<Protocol>(below(protocol_names.size()));
  if (below(2) == 0) {
    out.op.collective = Collective::all_reduce;
    out.choice.inference.library = static_cast<InferenceLibrary>(1 + below(3));
    out.choice.inference.version = below(2) == 0 ? 0 : static_cast<int>(below(30) * 1000);
    out.choice.inference.from_host = below(3) == 0;
  }
  return out;
}

}  // namespace

TEST_CASE("over random questions an explanation's terms, arithmetic and time are the prediction's") {
  std::mt19937_64 random{20261122};
  int answered = 0, engines = 0, called = 0, copies = 0;
  while (answered < 3000) {
    const Asked asked = random_question(random);
    const System& system = machine(asked.system);
    Prediction p;
    try {
      p = predict(system, asked.op, asked.choice);
    } catch (const RequestError&) {
      continue;  // predict says why
    }
    ++answered;
    engines += p.ran.kernel != CollectiveKernel::library ? 1 : 0;
    called += p.made_from.host_call.launch > 0 ? 1 : 0;
    copies += is_host_copy(asked.op) ? 1 : 0;
    CAPTURE(asked.system, name(asked.op.collective), asked.op.bytes.value(), asked.op.ranks, asked.op.nodes);
    // it keeps the inputs it was made from
    const double kernel = p.made_from.line(asked.op.bytes.value());
    const HostCall& call = p.made_from.host_call;
    CHECK((call.launch > 0 ? call.seconds() : kernel) == Approx(p.seconds).epsilon(1e-9));
    if (call.launch > 0) CHECK(call.kernel == Approx(kernel).epsilon(1e-9));
    // and the text tells its contents
    if (answered % 10 != 0 && engines > 60 && called > 40) continue;  // the whole story takes a millisecond
    for (const std::string& context : {explain(system, p), explain_alone(p)}) {
      CHECK(stated_terms(context) == own_terms(p.terms, p.seconds));
      std::smatch time;
      REQUIRE(std::regex_search(context, time, std::regex(R"re(\n  time = (?:.* = )?([0-9.]+) us\n)re")));
      CHECK(std::stod(time[1]) == Approx(p.seconds * 1e6).margin(0.0011));
    }
  }
  CHECK(engines > 50);
  CHECK(called > 40);
  CHECK(copies > 20);
}

TEST_CASE("an explanation decides nothing again: on another machine's description it still tells the prediction it was given") {
  const Prediction p = predict(machine("dgx-h100"), AllReduce{.bytes = units::KiB(64), .ranks = 8});
  System other = machine("dgx-h100");
  other.constants = machine("dgx-a100").constants;
  CHECK(stated_terms(explain(other, p)) == own_terms(p.terms, p.seconds));
}

TEST_CASE("dispatch and combine of experts are told by every kernel's own terms, which its parts join to") {
  std::mt19937_64 random{7};
  int told = 0;
  for (const char* name : {"dgx-h100", "dgx-b200", "gb200-nvl72", "mi300x-8"})
    for (std::size_t kernel = 0; kernel < moe_kernel_names.size(); ++kernel)
      for (const MoePhase phase : {MoePhase::prepare, MoePhase::dispatch, MoePhase::combine})
        for (const int ranks : {2, 8, 16, 64}) {
          MoeQuestion q{.phase = phase, .kernel = static_cast<MoeKernel>(kernel), .gate = {.experts = 256, .top_k = 8}};
          if (random() % 3 == 0) q.routing = {.kind = RoutingKind::zipf, .exponent = 0.8};
          q.hidden = 7168;
          q.tokens = static_cast<double>(1 + random() % 4096);
          q.ranks = ranks;
          MoePrediction p;
          try {
            p = predict(machine(name), q);
          } catch (const RequestError&) {
            continue;
          }
          ++told;
          CAPTURE(name, moe_kernel_names[kernel], ranks, q.tokens);
          const std::string context = explain(machine(name), p);
          CHECK(stated_terms(context) == own_terms(p.terms, p.seconds));
          if (q.kernel == MoeKernel::nccl) continue;
          CHECK(std::regex_search(context, std::regex("\n +time += +" + micro(p.seconds) + "\n")));
          const MoeVolume& v = p.cost.alone;
          const double volume = norm(v.work, norm(v.inside, v.across, 12), v.order);
          const double all = v.floor > 0 ? norm(v.floor, volume, 2) : volume;
          const double shares = p.cost.work + p.cost.inside + p.cost.across;
          if (q.phase != MoePhase::prepare) {
            CHECK(shares + (v.floor > 0 ? all * std::pow(v.floor / all, 2) : 0) == Approx(all).epsilon(1e-6));
          }
        }
  CHECK(told > 50);
}

TEST_CASE("a transfer from storage is told by the parts on its way, whose slowest makes the time") {
  const System& h100 = machine("dgx-h100");
  for (const double store : {0.0, 20e9, 400e9})
    for (const int nodes : {1, 4}) {
      WeightLoading load{.nodes = nodes, .store_rate = store, .node = {.storage_rate = 50e9, .latency = 1e-3, .host_memory_rate = 90e9}};
      const LoadingWays ways = loading_ways(h100, load, {.bytes = 810e9, .per_gpu = false});
      for (const LoadingWay& way : ways.ways)
        for (const TransferTime* t : {&way.direct, &way.through_host}) {
          double slowest = t->parts[0].rate;
          for (const TransferPart& part : t->parts) slowest = std::min(slowest, part.rate);
          CHECK(t->latency + t->bytes / slowest + t->gather == Approx(t->seconds).epsilon(1e-12));
          CHECK(support::contains(explain(*t), fmt::format("= {:.9g} s", t->seconds)));
          CHECK(support::contains(explain(ways), explain(*t)));
        }
    }
  const AccessLines lines = access_lines(h100, warp_window);
  CHECK(support::contains(explain(lines), fmt::format("{:.6g} B", lines.stores_until)));
  const Incast met = incast(h100, 8, 1e6);
  CHECK(support::contains(explain(met), micro(met.seconds) + " us"));
}

TEST_CASE("sizes between which loads and stores are faster than RDMA are fields, and the sizes' own times say the same") {
  int later = 0;
  for (const SystemName& one : system_names()) {
    AccessRequest r;
    r.system.name = one.name;
    for (const double window : {256.0, 65536.0, 1e6, 1e9}) {
      r.in_flight = units::B(window);
      r.bytes.reset();
      AccessAnswer a;
      try {
        a = answer(r);
      } catch (const RequestError&) {
        break;  // no NIC, or no domain
      }
      CAPTURE(one.name, window);
      const auto faster = [&](double bytes, auto part) {
        r.bytes = {{units::B(bytes)}};
        const AccessAnswer there = answer(r);
        return (there.*part).front() < there.rdma.front();
      };
      for (const auto& [from, until, part] :
           {std::tuple{a.store_from, a.store_until, &AccessAnswer::store}, std::tuple{a.load_from, a.load_until, &AccessAnswer::load}})
        for (const double bytes : {1.0, 1e3, 1e5, 1e7, 1e12}) {
          const bool said = from ? bytes >= from->value() : !until || bytes <= until->value();
          CHECK(faster(bytes, part) == said);
          later += from && said;
        }
    }
  }
  CHECK(later > 0);
}

TEST_CASE("the latency of a tier is no part of an engine's kernel, and explain says so") {
  const System b200 = load_system("dgx-b200");
  const Choice vllm{.inference = {.library = InferenceLibrary::vllm}};
  const AllReduce sum{.bytes = units::KiB(256), .ranks = 8};
  CHECK(support::contains(explain(b200, sum, vllm), "the latency of a tier is no part of it"));
  for (const Sensitivity& one : sensitivities(b200, sum, vllm)) CHECK(!support::contains(one.change, "less nvlink latency"));
}

TEST_CASE("the wire of a ring between racks is a part of the NICs that its channels ride", "[explain]") {
  const std::string text = explain(load_system("gb200-nvl72"), {.bytes = units::GiB(8), .ranks = 288});
  CHECK(support::contains(text, "ride 16 of its 72 NICs, 800 GB/s of 3.6 TB/s one way"));
  CHECK(support::contains(text, "% of 800]"));
}

TEST_CASE("the lines of SHARP's transfer are shares of the norm of both sides' own times", "[explain]") {
  const System system = load_system("dgx-h100", std::vector<std::string>{"tiers.nic.sharp=true"});
  for (const Algorithm algorithm : {Algorithm::collnet_chain, Algorithm::collnet_direct}) {
    const std::string text = explain(system, predict(system, AllReduce{.bytes = units::GiB(1), .nodes = 4}, {.algorithm = algorithm}));
    const std::regex side(R"re(alone takes ([0-9.]+) )re"), share(R"re(([0-9.]+) % of b)re"), order(R"re(norm of order ([0-9.]+))re");
    const auto flat = std::regex_replace(text, std::regex("\n +"), " ");
    std::vector<double> alone, shares;
    for (std::sregex_iterator i(flat.begin(), flat.end(), side), end; i != end; ++i) alone.push_back(std::stod((*i)[1]));
    for (std::sregex_iterator i(flat.begin(), flat.end(), share), end; i != end; ++i) shares.push_back(std::stod((*i)[1]));
    std::smatch found;
    REQUIRE((std::regex_search(flat, found, order) && alone.size() == 2 && shares.size() == 2));
    const double q = std::stod(found[1]), first = std::pow(alone[0], q) / (std::pow(alone[0], q) + std::pow(alone[1], q));
    CHECK(shares[0] == Approx(100 * first).margin(0.01));
    CHECK(shares[0] + shares[1] == Approx(100).margin(0.011));
  }
}

TEST_CASE("the wire is told by the bytes of the tier that binds", "[explain]") {
  const System h100 = load_system("dgx-h100");
  const auto flat = [&](const Operation& op, const Choice& choice = {}) { return std::regex_replace(explain(h100, op, choice), std::regex("\n +"), " "); };
  CHECK(support::contains(flat(AllReduce{.bytes = units::MiB(256), .nodes = 4}), "nvls_tree sends 2 S out of a domain, where the naive arithmetic counts 1.938"));
  CHECK(support::contains(flat(AllReduce{.bytes = units::MiB(256), .ranks = 8}), "switches that reduce move other bytes than a ring, 1.125 S per GPU"));
}

TEST_CASE("candidates leave out an algorithm of levels where it is the ring", "[explain]") {
  CHECK_FALSE(support::contains(explain(load_system("tpu-v5p-cube"), AllReduce{.bytes = units::MiB(256), .ranks = 64}), "hierarchical"));
  CHECK(support::contains(explain(load_system("tpu-v5p-cube"), AllReduce{.bytes = units::MiB(256), .ranks = 64}, {.algorithm = Algorithm::hierarchical}), "hierarchical"));
}

TEST_CASE("more of a NIC names the switch ports that turn with it") {
  const auto first_of = [](const char* name) {
    for (const Sensitivity& s :
         sensitivities(machine(name), {.collective = Collective::all_to_all, .bytes = units::MiB(64), .nodes = 2}, {}))
      if (s.change.starts_with("10 % more nic")) return s.change;
    return std::string{};
  };
  CHECK(first_of("superpod-h100").starts_with("10 % more nic and switch port bandwidth"));
  CHECK(first_of("dgx-h100").starts_with("10 % more nic bandwidth"));
}

TEST_CASE("an incast takes what the links into the receiver's part of the network carry") {
  System s = machine("superpod-h100");
  const auto taper = [&](double oversubscription) {
    for (Tier& tier : s.tiers) {
      if (tier.role == TierRole::nic) tier.kind = TierKind::fat_tree, tier.endpoints = 1;
      if (tier.role == TierRole::network) {
        const bool leaf = tier.name == s.tier(TierRole::network)->name;
        tier.endpoints = leaf ? 2 : 64;
        tier.oversubscription = leaf ? oversubscription : 1;
      }
    }
    return incast(s, 100, 1e9).seconds;
  };
  CHECK(taper(7) >= 85e9 / (2 * 50e9 / 7));
  CHECK(taper(100) >= 85e9 / (2 * 50e9 / 100));
  CHECK(taper(1) < 100e9 / 45e9);
}

TEST_CASE("nodes that fill no whole racks are said to be spread evenly") {
  const auto said = [](int nodes) {
    const System& racks = machine("gb200-nvl72");
    return fmt::format(
        "{}", fmt::join(assumptions(racks, predict(racks, {.collective = Collective::all_reduce, .bytes = units::GiB(1), .nodes = nodes})),
                        "; "));
  };
  CHECK(support::contains(said(40), "40 nodes fill no whole domains of 18 and are taken as 10 on each of 4"));
  for (const int whole : {4, 18, 36}) CHECK(!support::contains(said(whole), "whole domains"));
}
