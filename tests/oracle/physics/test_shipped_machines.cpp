/// Properties that hold on every shipped machine, whatever its constants.
#include <fabricost/explain/explain.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace fabricost::core;

namespace {

const std::vector<System>& shipped() {
  static const std::vector<System> all = [] {
    std::vector<System> out;
    for (const SystemName& one : system_names()) out.push_back(load_system(one.name));
    return out;
  }();
  return all;
}
const System& shipped_machine(const std::string& name) {
  return *std::find_if(shipped().begin(), shipped().end(), [&](const System& s) { return s.name == name; });
}

/// Bytes that leave the fullest of n ranks of two binary trees with half of S each, up and down, built edge by edge: the parent of a
/// rank other than 0 is found by clearing its lowest bit and setting the next; the second tree is the first one mirrored, or shifted
/// by one where n is odd.
double fullest_of_trees(int n) {
  std::vector<double> leaving(static_cast<std::size_t>(n), 0);
  for (int tree = 0; tree < 2; ++tree) {
    const auto place = [&](int rank) { return static_cast<std::size_t>(tree == 0 ? rank : n % 2 == 0 ? n - 1 - rank : (rank + 1) % n); };
    for (int rank = 1; rank < n; ++rank) {
      const int bit = rank & -rank;
      int parent = (rank ^ bit) | (bit << 1);
      if (parent >= n) parent = rank ^ bit;
      leaving[place(rank)] += 0.5;    // up
      leaving[place(parent)] += 0.5;  // down
    }
  }
  return *std::max_element(leaving.begin(), leaving.end());
}

/// f(system, operation) of questions that the machine answers; the others are refused.
template <class F>
int of_answers(const std::vector<Operation>& operations, F&& f) {
  int answered = 0;
  for (const System& system : shipped())
    for (const Operation& op : operations) {
      try {
        f(system, op);
        ++answered;
      } catch (const RequestError&) {}
    }
  return answered;
}

std::string asked_of(const System& system, const Operation& op) {
  return system.name + " " + std::string(name(op.collective)) + " of " + std::to_string(op.bytes.value()) + " B, " +
         std::to_string(op.ranks) + " ranks, " + std::to_string(op.nodes) + " nodes";
}

}  // namespace

TEST_CASE("no collective beats the bisection of the tier that joins its GPUs", "[physics]") {
  int checked = 0;
  for (const System& system : shipped()) {
    const Tier* tier = system.tier(TierRole::scale_up);
    if (tier == nullptr || tier->endpoints != system.domain || system.domain % 2 != 0 || tier->reduces_in_network) continue;
    const double n = system.domain;
    // what each half must send to the other, of S
    for (const auto& [op, crossing] : {std::pair{Collective::all_to_all, n / 4},
                                       {Collective::all_reduce, 1.0},
                                       {Collective::all_gather, 0.5},
                                       {Collective::reduce_scatter, 0.5},
                                       {Collective::broadcast, 1.0}}) {
      const Operation asked{.collective = op, .bytes = units::GiB(4), .ranks = system.domain};
      const Prediction p = predict(system, asked);
      INFO(asked_of(system, asked));
      CHECK(p.low * tier->bisection().value() >= crossing * 4 * gibibyte * (1 - 1e-9));
      ++checked;
    }
  }
  CHECK(checked > 200);
}

TEST_CASE("the interval of a tree begins no earlier than the fullest node's bytes over all of its NICs", "[physics]") {
  CHECK(fullest_of_trees(2) == 1);
  CHECK(fullest_of_trees(3) == 1.5);
  for (int n = 4; n < 70; ++n) CHECK(fullest_of_trees(n) == 2);
  int checked = 0;
  for (const System& system : shipped())
    for (const int nodes : {2, 3, 4, 7, 16})
      for (const Algorithm algorithm : {Algorithm::tree, Algorithm::nvls_tree})
        for (const double bytes : {64.0 * mebibyte, 16 * gibibyte, 64 * gibibyte}) {
          try {
            const Prediction p =
                predict(system, Operation{.collective = Collective::all_reduce, .bytes = Bytes::from_value(bytes), .nodes = nodes},
                        {.algorithm = algorithm});
            const Fabric& f = p.made_from.fabric;
            if (f.domains() < 2) continue;
            const double least = fullest_of_trees(static_cast<int>(f.domains())) * bytes / f.outer_rate;
            INFO(system.name << ", " << nodes << " nodes, " << p.algorithm.view() << ", " << bytes / gibibyte << " GiB");
            CHECK(p.low >= least * (1 - 1e-9));
            CHECK(p.seconds >= least * (1 - 1e-9));
            ++checked;
          } catch (const RequestError&) {}
        }
  CHECK(checked > 500);
}

TEST_CASE("faster links never take longer where the library does the same", "[physics]") {
  std::vector<Operation> operations;
  for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                              Collective::all_to_all, Collective::send_recv})
    for (const int ranks : {0, 2, 3})
      for (double bytes = 1024; bytes < 20e9; bytes *= 16)
        operations.push_back({.collective = op, .bytes = Bytes::from_value(bytes), .ranks = ranks});
  int same = 0;
  const int answered = of_answers(operations, [&](const System& system, const Operation& op) {
    for (const std::optional<Protocol> protocol :
         {std::optional<Protocol>{}, std::optional{Protocol::ll}, std::optional{Protocol::simple}}) {
      if (protocol && !is_exchange(op.collective)) continue;
      for (const double factor : {1.1, 2.0, 4.0}) {
        System faster = system;
        for (Tier& tier : faster.tiers)
          if (tier.role == TierRole::scale_up) tier.bandwidth.value *= factor;
        const Prediction now = predict(system, op, {.protocol = protocol}), then = predict(faster, op, {.protocol = protocol});
        const auto channels = [](const Prediction& p) { return p.made_from.fabric.channels.count; };  // NCCL opens them by rate
        if (!(now.ran == then.ran) || (!is_exchange(op.collective) && channels(now) != channels(then))) continue;
        INFO(asked_of(system, op) << ", links " << factor << " times as fast");
        CHECK(then.seconds <= now.seconds * (1 + 1e-9));
        ++same;
      }
    }
  });
  CHECK(answered > 1500);
  CHECK(same > 2500);
}

TEST_CASE("a message to one GPU gains from a link that is faster than any measured one", "[physics]") {
  const System& now = shipped_machine("vera-rubin-nvl72");
  System faster = now;
  for (Tier& tier : faster.tiers)
    if (tier.role == TierRole::scale_up) tier.bandwidth.value *= 2;
  for (const Operation& op : std::vector<Operation>{SendRecv{.bytes = units::GiB(8)}, AllToAll{.bytes = units::GiB(8), .ranks = 72}})
    CHECK(predict(faster, op).seconds < 0.7 * predict(now, op).seconds);
  // and reaches as large a part of it as a ring, whose step is a message to the next GPU
  const Prediction message = predict(now, SendRecv{.bytes = units::GiB(8)}),
                   ring = predict(now, Broadcast{.bytes = units::GiB(8), .ranks = 8});
  CHECK(message.bus_bandwidth().value() > 0.8 * ring.bus_bandwidth().value());
}

TEST_CASE("a message to the next node has its NIC to itself, however many GPUs of its node share that", "[physics]") {
  int checked = 0;
  for (const System& system : shipped()) {
    const Tier* const nic = system.tier(TierRole::nic);
    if (nic == nullptr || nic->endpoints > system.gpus_per_node || system.domain > system.gpus_per_node) continue;
    const auto asked = [&](int each) {
      return predict(system, Operation{.collective = Collective::send_recv, .bytes = units::GiB(1), .ranks = 2 * each, .nodes = 2});
    };
    const Prediction alone = asked(1);
    for (int each = 2; each <= system.gpus_per_node; ++each) {
      const Prediction among = asked(each);
      INFO(system.name << ", " << each << " of " << system.gpus_per_node << " GPUs over " << nic->endpoints << " NICs");
      CHECK(among.min == Approx(alone.min));
      if (among.bottleneck().name == name(TermKind::wire) && alone.bottleneck().name == name(TermKind::wire))
        CHECK(among.seconds == Approx(alone.seconds).epsilon(1e-3));
      if (system.library == Library::rccl) CHECK(among.seconds == Approx(alone.seconds).epsilon(1e-3));
      ++checked;
    }
  }
  CHECK(checked > 200);
}

TEST_CASE("no part of the time says that links carried more than they can, and none needs more than all of it", "[physics]") {
  int checked = 0;
  for (const System& system : shipped())
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                Collective::all_to_all, Collective::send_recv})
      for (const int nodes : {0, 2, 4})
        for (int each = 2; each <= std::min(8, system.gpus_per_node); ++each)
          for (double octave = 9; octave < 36; octave += 1.5) {
            try {
              const double bytes = std::round(std::exp2(octave));
              const Prediction p = predict(
                  system, Operation{.collective = op, .bytes = Bytes::from_value(bytes), .ranks = std::max(1, nodes) * each, .nodes = nodes});
              const double needed = p.made_from.line.min * bytes;
              double moving = 0;
              for (const Term& term : p.terms)
                if (is_transfer(term.name.view())) moving += term.time.value();
              INFO(asked_of(system, p.operation) << ", " << p.algorithm.view() << " " << p.protocol.view());
              CHECK(p.seconds >= needed * (1 - 1e-9));
              // what LL takes for few bytes is no transfer, and the first over PCIe may come from caches
              if (p.ran.protocol != Protocol::ll && p.made_from.line.early_rate >= 0) CHECK(moving >= needed * (1 - 1e-9));
              ++checked;
            } catch (const RequestError&) {}
          }
  CHECK(checked > 20000);
}

TEST_CASE("an all_reduce of chips on a torus takes no longer than its two halves", "[physics]") {
  int checked = 0;
  for (const System& system : shipped()) {
    const Tier* const up = system.tier(TierRole::scale_up);
    if (up == nullptr || up->kind != TierKind::torus) continue;
    for (int ranks = 2; ranks <= 512; ranks *= 2)
      for (double bytes = 64; bytes < 2e10; bytes *= 16) {
        const auto seconds = [&](Collective op) {
          return predict(system, Operation{.collective = op, .bytes = Bytes::from_value(bytes), .ranks = ranks}).seconds;
        };
        try {
          INFO(system.name << ", " << ranks << " chips, " << bytes << " B");
          CHECK(seconds(Collective::all_reduce) <= seconds(Collective::reduce_scatter) + seconds(Collective::all_gather));
          ++checked;
        } catch (const RequestError&) {}
      }
  }
  CHECK(checked > 200);
}

TEST_CASE("one rank moves nothing, at no rate", "[physics]") {
  int checked = 0;
  for (const System& system : shipped())
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                Collective::reduce, Collective::all_to_all}) {
      try {
        const Prediction p = predict(system, Operation{.collective = op, .bytes = units::GiB(64), .ranks = 1});
        INFO(system.name << " " << name(op));
        CHECK(p.algorithm_bandwidth().value() == 0);
        CHECK(p.bus_bandwidth().value() == 0);
        CHECK(p.seconds < 1e-3);
        if (checked++ == 0) CHECK(explain(p).find("nothing") != std::string::npos);
      } catch (const RequestError&) {}
    }
  CHECK(checked > 100);
}

TEST_CASE("a machine without a tuner broadcasts and reduces in at most twice the time of an all_reduce", "[physics]") {
  int checked = 0;
  for (const System& system : shipped()) {
    const Tier* up = system.tier(TierRole::scale_up);
    const bool neighbours = up != nullptr && (up->kind == TierKind::torus || up->kind == TierKind::ring);  // there rings alone broadcast
    if (follows_tuner(system.library) || neighbours) continue;
    for (const double bytes : {8.0, 1024.0, 65536.0, 1048576.0, 1e9}) {
      const auto seconds = [&](Collective op) {
        return predict(system, Operation{.collective = op, .bytes = Bytes::from_value(bytes)}).seconds;
      };
      INFO(system.name << " " << bytes);
      CHECK(seconds(Collective::broadcast) <= 2 * seconds(Collective::all_reduce));
      CHECK(seconds(Collective::reduce) <= 2 * seconds(Collective::all_reduce));
      ++checked;
    }
  }
  CHECK(checked >= 20);
}

TEST_CASE("an exchange with thousands of ranks costs time for each of them", "[physics]") {
  const double measured = predict(shipped_machine("gb200-nvl72"), AllToAll{.bytes = units::B(8), .ranks = 72}).seconds;
  int checked = 0;
  for (const System& system : shipped()) {
    const Tier* up = system.tier(TierRole::scale_up);
    if (system.domain <= 144 || up == nullptr || up->kind == TierKind::torus || up->kind == TierKind::ring) continue;
    INFO(system.name);
    CHECK(predict(system, AllToAll{.bytes = units::B(8), .ranks = system.domain}, {.algorithm = Algorithm::direct}).seconds > measured);
    const Prediction shots = predict(system, AllReduce{.bytes = units::B(8), .ranks = system.domain}, {.algorithm = Algorithm::one_shot});
    CHECK(shots.seconds > measured);
    ++checked;
  }
  CHECK(checked >= 3);
}

TEST_CASE("the interval of a PCIe board that nobody measured holds the usual ones that were", "[physics]") {
  for (const char* name : {"pcie4-8gpu", "pcie5-8gpu", "l40s-pcie"})
    for (const double bytes : {256 * mebibyte, 1 * gibibyte}) {
      const auto asked = [&](const System& s) {
        return predict(s, Operation{.collective = Collective::all_reduce, .bytes = Bytes::from_value(bytes), .ranks = 8});
      };
      const Prediction unknown = asked(shipped_machine(name));
      const double own = unknown.made_from.fabric.pcie_rate;
      CHECK(unknown.basis != Basis::calibrated);
      for (const char* measured : {"b60-pcie", "rtx-pro-6000-pcie"}) {
        const Prediction there = asked(shipped_machine(measured));
        const double scaled = there.seconds * there.made_from.fabric.pcie_rate / own;  // its share of this link's rate
        INFO(name << " as " << measured << ", " << bytes / mebibyte << " MiB: " << scaled << " s");
        CHECK(unknown.low <= scaled);
        CHECK(unknown.high >= scaled);
      }
      // 8 L40S with SGLang 0.5.12, whose all-reduces NCCL runs: 22.68 and 90.22 ms
      const double l40s = (bytes < gibibyte ? 22.68e-3 : 90.22e-3) * 31.5e9 / own;
      CHECK(unknown.low <= l40s);
      CHECK(unknown.high >= l40s);
    }
}

TEST_CASE("one slow run is no usual board: ranks of one keep their rate within a factor, and protocols follow each other", "[physics]") {
  int boards = 0;
  for (const System& system : shipped()) {
    const Tier* const tier = system.tier(TierRole::scale_up);
    if (tier == nullptr || tier->kind != TierKind::host || system.constants.basis == Basis::calibrated) continue;
    ++boards;
    const auto asked = [&](int ranks, double bytes) { return predict(system, AllReduce{.bytes = Bytes::from_value(bytes), .ranks = ranks}); };
    for (const int ranks : {4, 8}) {
      if (ranks > system.domain) continue;
      INFO(system.name << ", " << ranks << " ranks");
      CHECK(asked(ranks, gibibyte).bus_bandwidth().value() > asked(2, gibibyte).bus_bandwidth().value() / 2);
      for (double bytes = 64 * kibibyte; bytes < 64 * mebibyte; bytes *= 2)
        CHECK(asked(ranks, 2 * bytes).seconds > 0.75 * asked(ranks, bytes).seconds);  // measured where protocols change: 0.81
    }
  }
  CHECK(boards >= 6);
  CHECK(shipped_machine("l40s-aiconfigurator").constants.basis == Basis::calibrated);
}

namespace {

/// Sizes at which a curve's lines may bend, with their neighbours, and a grid of sixteen an octave.
std::vector<double> sizes_of(const Curve& curve) {
  std::vector<double> out;
  for (double octave = 9; octave < 36; octave += 1.0 / 16) out.push_back(std::round(std::exp2(octave)));
  for (int i = 0; i < curve.pieces(); ++i) {
    const Line& line = curve.line_at(curve.line_index(i));
    std::vector<double> edges{line.unmeasured_end.from, line.unmeasured_end.at, line.unmeasured_end.until, line.early};
    for (const Jump& jump : line.jumps)
      for (const double edge : {jump.from, jump.until, jump.rule}) edges.push_back(edge);
    for (const double edge : edges)
      for (const double by : {-1.0, 0.0, 1.0})
        if (edge > 512 && edge < 1e11) out.push_back(std::floor(edge) + by);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

// NCCL doubles the channels of a peer and the chunks of a switch at sizes between those that runs have. Measured is that exchanges over
// Slingshot with 128 bytes a peer take longer than with 256.
TEST_CASE("a larger message takes no less time under one algorithm and protocol, but where that was measured", "[physics]") {
  long sizes = 0, falls = 0, open_sizes = 0;
  for (const System& system : shipped())
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                Collective::reduce, Collective::all_to_all, Collective::send_recv})
      for (const auto& [ranks, nodes] : std::vector<std::pair<int, int>>{
               {2, 0}, {3, 0}, {4, 0}, {6, 0}, {8, 0}, {16, 0}, {18, 0}, {24, 0}, {72, 0}, {0, 2}, {0, 4}, {0, 16}, {0, 64}}) {
        Operation asked{.collective = op, .ranks = ranks, .nodes = nodes};
        std::optional<Curve> curve;
        try {
          curve = compile(system, asked);
        } catch (const RequestError&) {
          continue;
        }
        double before = 0, last = 0;
        for (const double bytes : sizes_of(*curve)) {
          const Line& line = curve->line(bytes);
          const double now = line(bytes);
          const bool same = last > 0 && curve->ran_at(last) == curve->ran_at(bytes);
          if (same && now < before * (1 - 1e-9)) {
            ++falls;
            INFO(asked_of(system, asked) << ": " << last << " -> " << bytes << " B, " << before << " -> " << now << " s");
            CHECK((line.unmeasured_end.at >= last && line.unmeasured_end.at <= bytes));
            CHECK(before - now <= line.unmeasured_end.seconds * (1 + 1e-9));
          }
          if (const double other = line.alternative_seconds(bytes, now); other != now && open_sizes++ % 16 == 0) {
            asked.bytes = Bytes::from_value(bytes);
            const Prediction p = predict(system, asked);
            INFO(asked_of(system, asked) << ": " << now << " s, or " << other << " s");
            CHECK(p.low <= other * (1 + 1e-9));
            CHECK(p.high >= other * (1 - 1e-9));
          }
          last = bytes;
          before = now;
          ++sizes;
        }
      }
  std::printf("  %ld sizes, %ld falls, %ld left open\n", sizes, falls, open_sizes);
  CHECK(sizes > 1000000);
  CHECK(open_sizes > 1000);
}

TEST_CASE("between measured sizes the interval holds the library's rule and the point does not fall", "[physics]") {
  const auto b200 = [](double mib) { return predict(shipped_machine("dgx-b200"), AllReduce{.bytes = Bytes::from_value(mib * mebibyte)}); };
  CHECK(b200(127).seconds == Approx(b200(128).seconds));
  CHECK(b200(127).high > 0.498e-3);  // chunks of 32 KiB go on until 128 MiB
  CHECK(b200(127).low < b200(128).seconds);
  CHECK(b200(64).high / b200(64).low == Approx(b200(128).high / b200(128).low).epsilon(0.01));  // both were measured
  // 8 H100: 64 and 128 MiB take 0.84 and 0.82 ms
  const auto p5 = [](double bytes) { return predict(shipped_machine("aws-p5"), SendRecv{.bytes = Bytes::from_value(bytes), .ranks = 16}); };
  CHECK(p5(64 * mebibyte + 1).seconds == Approx(p5(64 * mebibyte).seconds));
  CHECK(p5(64 * mebibyte + 1).low < 0.55 * p5(64 * mebibyte).seconds);
  CHECK(p5(128 * mebibyte).seconds == Approx(p5(64 * mebibyte).seconds).epsilon(0.02));
}

TEST_CASE("what more bandwidth changes names the channels that the library then opens", "[physics]") {
  bool named = false;
  for (const Sensitivity& s : sensitivities(shipped_machine("dgx-h100"), AllGather{.bytes = units::MiB(1), .ranks = 8}))
    named = named || s.change.find("channels 24 -> 32") != std::string::npos;
  CHECK(named);
  for (const Sensitivity& s : sensitivities(shipped_machine("dgx-h100"), SendRecv{.bytes = units::MiB(1)}))
    CHECK(s.change.find("channels") == std::string::npos);
}

TEST_CASE("a small all-reduce lies where an additive model of launch, hops and wire puts it", "[physics]") {
  const auto [system, bytes, least_us, most_us] = GENERATE(table<const char*, double, double, double>(
      {{"dgx-a100", 16384, 19, 26}, {"dgx-h100", 16384, 13, 19}, {"dgx-b200", 16384, 22, 31}, {"dgx-h100", 524288, 16, 25}}));
  const double us = 1e6 * predict(shipped_machine(system), AllReduce{.bytes = Bytes::from_value(bytes), .ranks = 8}).seconds;
  CAPTURE(system, bytes);
  CHECK(us >= least_us);
  CHECK(us <= most_us);
}
