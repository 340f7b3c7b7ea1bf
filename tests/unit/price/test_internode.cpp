// Inputs of the forms between nodes beside size and count: the way from GPU to NIC, added latency, the tier that binds.
#include <fabricost/price/price.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::core;

namespace {

/// A step of the network costs 16 us in ring Simple, so that none of its parts rounds away.
Constants constants() {
  Constants c;
  c.transport.exchange_tiny = 3;
  return c;
}
Fabric cluster(int g, int nodes, double inner = support::inside_rate, double nic = support::nic_rate) {
  Fabric f = support::fabric(g, nodes);
  f.inner_rate = f.full_rate = inner;
  f.outer_rate = g * nic;
  return f;
}
Line priced(Algorithm algorithm, Collective op, const Fabric& f, const Constants& c, Protocol protocol = Protocol::simple) {
  return price(schedule_of(algorithm, op, f), f, c, protocol, false);
}

}  // namespace

TEST_CASE("the host bridge takes its share of both ways at once, little of one way, and staging its own", "[price]") {
  TransportConstants t = fabricost::core::transport_prior;
  t.host_bridge = 0.6;
  t.no_gdr_rate = 0.5;
  Fabric f = cluster(8, 2);
  for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                              Collective::broadcast, Collective::reduce}) {
    INFO(name(op));
    const bool one_way = op == Collective::broadcast || op == Collective::reduce;
    f.host_bridge = false;
    f.gpu_direct = true;
    CHECK(nic_path_share(f, t, op) == 1);
    f.gpu_direct = false;
    CHECK(nic_path_share(f, t, op) == 0.5);
    f.host_bridge = true;
    CHECK(nic_path_share(f, t, op) == Approx(one_way ? 0.49 : 0.3));
    f.gpu_direct = true;
    CHECK(nic_path_share(f, t, op) == (one_way ? 0.98 : 0.6));
  }
}

TEST_CASE("a GPU on PCIe sends to its neighbours and to the NICs over one link", "[price]") {
  const Constants c = constants();
  Fabric f = cluster(8, 2, 63e9, 1e12);
  f.over_pcie = f.peer_to_peer = true;
  f.pcie_rate = f.pcie_carried = 63e9;
  const Line line = priced(Algorithm::direct, Collective::all_to_all, f, c);
  CHECK(line.rate == Approx(15.0 / 16 / (c.pcie.simple_share[0] * 63e9)));  // one part in 16 is the GPU's own
  CHECK(line.wire_level == 0);
  f.outer_rate = 8e9;  // 1 GB/s for each GPU binds instead
  CHECK(priced(Algorithm::direct, Collective::all_to_all, f, c).wire_level == 1);
  f.outer_rate = 7 * 63e9 / c.transport.exchange_share;  // slower than the way to the neighbours, but not than both over one link
  CHECK(priced(Algorithm::direct, Collective::all_to_all, f, c).wire_level == 0);
}

TEST_CASE("the tier with the lower rate is named as the one that binds", "[price]") {
  const Constants c = constants();
  Fabric network = cluster(8, 4, 4000e9, 10e9);
  network.nics = 8;  // a channel each, which carry more than the NICs
  const Fabric inside = cluster(8, 4, 4e9, 50e9);
  for (const Algorithm a : {Algorithm::ring, Algorithm::tree, Algorithm::nvls_tree})
    for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      if (a == Algorithm::nvls_tree && p != Protocol::simple) continue;
      INFO(name(a) << " " << name(p));
      const Line outer = priced(a, Collective::all_reduce, network, c, p), inner = priced(a, Collective::all_reduce, inside, c, p);
      CHECK(outer.wire_level == 1);
      CHECK(outer.rate_parts[0].level == 1);
      CHECK(inner.wire_level == 0);
      CHECK(inner.rate_parts[0].level == 0);
    }
  const Fabric slow_inside = cluster(2, 2, 1e9, 400e9);
  CHECK(priced(Algorithm::direct, Collective::all_to_all, slow_inside, c).wire_level == 0);
  CHECK(priced(Algorithm::direct, Collective::all_to_all, cluster(8, 4), c).wire_level == 1);
}

TEST_CASE("without GPUDirect a step of a ring takes longer, by the same factor at every size", "[price]") {
  Constants c = constants();
  c.transport.no_gdr_rate = 1;
  c.scale_up.simple.floor = c.scale_up.simple.hop = 0;
  c.transport.ring_overlap = 1;
  Fabric f = cluster(8, 4);
  const auto latency = [&](double bytes) {
    const Line line = priced(Algorithm::ring, Collective::all_gather, f, c);
    return line(bytes) - line.volume(bytes) - c.scale_up.launch;
  };
  const double direct_small = latency(0), direct_large = latency(1e9);
  f.gpu_direct = false;
  CHECK(latency(0) == Approx(c.transport.no_gdr_step * direct_small));
  CHECK(latency(1e9) == Approx(c.transport.no_gdr_step * direct_large));
}

TEST_CASE("latency beyond the fitted one is added to every step of its own tier", "[price]") {
  const Constants c = constants();
  const double more = 2e-6;
  for (const Collective op : {Collective::all_reduce}) {
    for (const auto& [algorithm, protocol] :
         {std::pair{Algorithm::ring, Protocol::ll}, {Algorithm::ring, Protocol::ll128}, {Algorithm::tree, Protocol::ll}}) {
      INFO(name(algorithm) << " " << name(protocol));
      const Fabric f = cluster(8, 4);
      Fabric inner = f, outer = f;
      inner.inner_latency_shift = more;
      outer.outer_latency_shift = more;
      const bool ring = algorithm == Algorithm::ring;
      const double network = ring ? 2 * 3 : 4, chain = ring ? 2 * 31 - 6 : 14;
      const double start = priced(algorithm, op, f, c, protocol)(0);
      CHECK(priced(algorithm, op, inner, c, protocol)(0) - start == Approx(chain * more));
      CHECK(priced(algorithm, op, outer, c, protocol)(0) - start == Approx(network * more));
    }
  }
  // in-switch trees: up and down a switch
  Fabric f = cluster(8, 4);
  const double start = priced(Algorithm::nvls_tree, Collective::all_reduce, f, c)(0);
  f.inner_latency_shift = more;
  CHECK(priced(Algorithm::nvls_tree, Collective::all_reduce, f, c)(0) - start == Approx(2 * more));
  f.inner_latency_shift = -1;
  CHECK(priced(Algorithm::nvls_tree, Collective::all_reduce, f, c)(0) == Approx(start - (c.transport.nvls_floor - c.scale_up.launch)));
}

namespace {

/// Every rank passes on a block as soon as it has it, after the one before: when the last block of `rounds` rounds arrives. The hop from
/// the last rank of a domain leaves it.
double ring_finishes(int g, int nodes, int rounds, double inside, double border) {
  const int n = g * nodes, steps = rounds * (n - 1);
  std::vector<double> has(static_cast<std::size_t>(n), 0), sent = has;
  for (int s = 0; s < steps; ++s) {
    std::vector<double> next(has.size());
    for (int r = 0; r < n; ++r) {
      const auto from = static_cast<std::size_t>(r);
      sent[from] = std::max(has[from], sent[from]);
      next[static_cast<std::size_t>((r + 1) % n)] = sent[from] + ((r + 1) % g == 0 ? border : inside);
    }
    has = next;
  }
  return *std::max_element(has.begin(), has.end());
}

}  // namespace

TEST_CASE("a Simple ring over N domains waits for N borders a round, as one that is played through", "[price]") {
  Constants c = constants();
  c.transport.ring_overlap = 1;
  for (const int g : {1, 2, 3, 4, 8})
    for (const int nodes : {2, 3, 4, 8, 16})
      for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
        CAPTURE(g, nodes, name(op));
        const double border = c.transport.form.ring_simple_start * c.transport.ring_simple_step;
        const double played = ring_finishes(g, nodes, op == Collective::all_reduce ? 2 : 1, c.scale_up.simple.hop, border);
        const Line line = priced(Algorithm::ring, op, cluster(g, nodes), c);
        CHECK(line(0) - c.scale_up.launch - c.scale_up.simple.floor == Approx(played));
      }
}

TEST_CASE("an algorithm takes no less on more nodes, and in-switch trees grow with their doublings", "[price]") {
  const Constants c = constants();
  for (const int g : {8, 72})
    for (double bytes = 1 << 20; bytes < 1e11; bytes *= 4)
      for (const Algorithm a : {Algorithm::nvls_tree, Algorithm::tree, Algorithm::ring}) {
        double last = 0;
        for (const int nodes : {2, 3, 4, 8, 16, 20, 32, 64, 128, 256}) {
          CAPTURE(g, bytes, name(a), nodes);
          const double now = priced(a, Collective::all_reduce, cluster(g, nodes), c)(bytes);
          CHECK(now >= last * (1 - 1e-9));
          last = now;
        }
      }
  const auto latency = [&](int nodes) {
    const Line line = priced(Algorithm::nvls_tree, Collective::all_reduce, cluster(72, nodes), c);
    return line(1e9) - line.volume(1e9) - line(0);
  };
  CHECK(latency(20) / latency(2) == Approx(std::log2(20)));
}

TEST_CASE("beyond eight domains each doubling makes a tree's steps longer, but not the latency that is added to them", "[price]") {
  const Constants c = constants();
  const auto tree = [&](int nodes, double beyond) {
    Fabric f = cluster(8, nodes);
    f.outer_latency_shift = beyond;
    return priced(Algorithm::tree, Collective::all_reduce, f, c, Protocol::ll)(0);
  };
  const double inside = tree(2, 0) - 2 * c.transport.tree_step;
  for (const int doublings : {1, 2, 3, 4, 5, 7, 10}) {
    const double longer = 1 + c.transport.form.tree_far * std::max(0, doublings - 3);
    CHECK(tree(1 << doublings, 0) - inside == Approx(2 * doublings * longer * c.transport.tree_step));
    CHECK(tree(1 << doublings, 1e-6) - tree(1 << doublings, 0) == Approx(2 * doublings * 1e-6));
  }
}

TEST_CASE("a ring of LL128 between domains is never faster for large messages than Simple, which sends no flags", "[price]") {
  const Constants c = constants();
  for (const double inside : {40e9, 390e9, 4000e9}) {
    const Fabric f = cluster(8, 4, inside, 50e9);
    const Line flags = priced(Algorithm::ring, Collective::all_reduce, f, c, Protocol::ll128);
    const Line simple = priced(Algorithm::ring, Collective::all_reduce, f, c, Protocol::simple);
    CHECK(flags.rate >= simple.rate);
    CHECK(flags.rate <= simple.rate / c.transport.form.ll128_share * (1 + 1e-9));
  }
  const Fabric network = cluster(8, 4, 4000e9, 50e9);
  CHECK(priced(Algorithm::ring, Collective::all_reduce, network, c, Protocol::ll128).rate ==
        Approx(128.0 / 120 * priced(Algorithm::ring, Collective::all_reduce, network, c, Protocol::simple).rate));
}

TEST_CASE("LL128 pays its crossings inside a rack for no more steps than inside a server", "[price]") {
  const Constants c = constants();
  const auto inner = [&](int g) {  // of its steps inside domains, beyond the LL hop that one domain alone takes
    Fabric f = cluster(g, 4);
    const double before = priced(Algorithm::ring, Collective::all_gather, f, c, Protocol::ll128).base;
    return before - c.scale_up.launch - (4 * g - 1 - 3) * c.scale_up.ll.hop;
  };
  CHECK(inner(8) == Approx((31 - 3) * (c.transport.form.ll128_inner_hops - 1) * c.scale_up.ll.hop));
  for (const int g : {16, 32, 72}) CHECK(inner(g) == Approx(inner(8)).epsilon(0.01));
}

TEST_CASE("in-switch trees of racks pay more for their floor and for each step", "[price]") {
  const Constants c = constants();
  const double server = priced(Algorithm::nvls_tree, Collective::all_reduce, cluster(8, 2), c)(0);
  const double rack = priced(Algorithm::nvls_tree, Collective::all_reduce, cluster(72, 2), c)(0);
  const double more = std::pow(9, c.scale_up.form.rack_floor_power);
  CHECK(rack - server == Approx((more - 1) * (c.transport.nvls_floor + 2 * c.transport.form.nvls_start * c.transport.nvls_step)));
  CHECK(priced(Algorithm::nvls_tree, Collective::all_reduce, cluster(288, 2), c)(0) == Approx(rack));  // none so large was measured
}

TEST_CASE("the devices that channels ride bound what a rack sends, and a device alone carries a tree's children and parent", "[price]") {
  const Constants c = constants();
  const double fast = 1e15;  // inside
  const auto rack = [&](int racks) {
    Fabric f = cluster(72, racks, fast, 50e9);
    f.generation = Generation::blackwell;
    f.nics = 72;
    return f;
  };
  const double ridden = 16 * 50e9 * c.transport.efficiency;
  for (const auto& [racks, neighbours] : {std::pair{2, 1}, {3, 2}, {4, 3}, {20, 3}, {100, 3}}) {
    INFO(racks << " racks");
    CHECK(priced(Algorithm::nvls_tree, Collective::all_reduce, rack(racks), c).rate == Approx(neighbours / ridden));
    const double n = 72.0 * racks;
    CHECK(priced(Algorithm::ring, Collective::all_reduce, rack(racks), c).rate == Approx(2 * (n - 1) / n / ridden));
  }
  // an exchange uses all of them
  const Line exchange = priced(Algorithm::direct, Collective::all_to_all, rack(2), c);
  CHECK(exchange.rate == Approx(72 * 0.5 / (c.transport.exchange_share * 72 * 50e9)).epsilon(1e-3));
  // a server's devices share the channels of both trees
  Fabric server = cluster(8, 20, fast, 50e9);
  server.generation = Generation::blackwell;
  server.nics = 8;
  CHECK(priced(Algorithm::nvls_tree, Collective::all_reduce, server, c).rate ==
        Approx(2 / (8 * 50e9 * c.transport.efficiency)));
}

TEST_CASE("a broadcast queued behind the last one starts after one step, however many nodes", "[price]") {
  const Constants c = constants();
  for (const int nodes : {2, 4, 64}) {
    Fabric f = cluster(8, nodes);
    const auto seconds = [&](bool queued, double bytes, Collective op) {
      f.back_to_back = queued;
      return priced(Algorithm::ring, op, f, c, Protocol::ll)(bytes);
    };
    for (const Collective op : {Collective::broadcast, Collective::reduce}) {
      INFO(nodes << " nodes, " << name(op));
      CHECK(seconds(true, 0, op) == Approx(c.scale_up.launch + c.scale_up.ll.hop));
      double last = 0;
      for (double bytes = 8; bytes < 1e7; bytes *= 1.3) {
        const double now = seconds(true, bytes, op);
        CHECK(now >= last);
        CHECK(now <= seconds(false, bytes, op) * (1 + 1e-12));
        last = now;
      }
    }
    CHECK(seconds(true, 1024, Collective::all_reduce) == seconds(false, 1024, Collective::all_reduce));
    Fabric lone = cluster(1, nodes);  // its step crosses the network
    lone.back_to_back = true;
    CHECK(priced(Algorithm::ring, Collective::broadcast, lone, c, Protocol::ll)(0) == Approx(c.scale_up.launch + c.transport.ring_ll_step));
  }
}

TEST_CASE("a queued broadcast waits for all ranks once a second channel carries it in another order", "[price]") {
  Constants c = constants();
  c.transport.tree_growth = 0;  // of steps that are not queued
  const auto seconds = [&](int nics, bool queued, double bytes) {
    Fabric f = cluster(8, 4);
    f.nics = nics;
    f.back_to_back = queued;
    return priced(Algorithm::ring, Collective::broadcast, f, c, Protocol::ll)(bytes);
  };
  const double one_channel = c.scale_up.ll.chunk * 32, more = one_channel * (1 + 1e-9);
  CHECK(seconds(1, true, more) == Approx(seconds(1, true, one_channel)));
  CHECK(seconds(8, true, one_channel) == Approx(seconds(1, true, one_channel)));
  CHECK(seconds(8, true, one_channel) < 0.7 * seconds(8, false, one_channel));
  CHECK(seconds(8, true, more) == Approx(seconds(8, false, more)));
  c.scale_up.ll.hop = 1;  // slices take longer than all steps: no more than those are waited for
  Fabric lone = cluster(1, 4);
  const auto last = [&] { return priced(Algorithm::ring, Collective::broadcast, lone, c, Protocol::ll)(1e6); };
  const double alone = last();
  lone.back_to_back = true;
  CHECK(last() == Approx(alone));
}

TEST_CASE("under Simple the network carries a broadcast's chunks of all channels whole into each other domain", "[price]") {
  Constants c = constants();
  const auto filling = [&](Collective op, int g, int nodes, double bytes) {
    const Fabric f = cluster(g, nodes);
    c.transport.form.ring_chunk = 1;
    const double without = priced(Algorithm::ring, op, f, c)(bytes);
    c.transport.form.ring_chunk = 512.0 * 1024;
    return priced(Algorithm::ring, op, f, c)(bytes) - without;
  };
  const Fabric f = cluster(8, 4);
  const double chunks = 512.0 * 1024 * network_channels(8, f.generation, tables_of(f.tuner));
  const double each = chunks * priced(Algorithm::ring, Collective::broadcast, f, c).rate;
  CHECK(filling(Collective::broadcast, 8, 4, 1e9) == Approx(3 * each).epsilon(1e-4));
  CHECK(filling(Collective::reduce, 8, 4, chunks / 2) == Approx(1.5 * each).epsilon(1e-4));
  const Fabric lone = cluster(1, 4);
  const double one = 512.0 * 1024 * network_channels(1, f.generation, tables_of(f.tuner)) * priced(Algorithm::ring, Collective::broadcast, lone, c).rate;
  CHECK(filling(Collective::broadcast, 1, 4, 1e9) == Approx(2 * one).epsilon(1e-4));
  CHECK(filling(Collective::broadcast, 1, 2, 1e9) == 0);
  CHECK(filling(Collective::all_reduce, 8, 4, 1e9) == 0);
}

TEST_CASE("the links inside a domain carry all hops of a ring but the one that leaves", "[price]") {
  const Constants c = constants();
  for (const int g : {2, 4, 8}) {
    const Fabric f = cluster(g, 2, 4e9, 50e9);  // they bind
    const double n = 2.0 * g, share = c.scale_up.simple.rate_share;
    CHECK(priced(Algorithm::ring, Collective::all_reduce, f, c).rate == Approx(2 * (n - 1) / n * (g - 1) / g / (share * 4e9)));
  }
}

TEST_CASE("a message between nodes has its GPU's share of the NICs, or what the channels of its peer carry", "[price]") {
  Constants c = constants();
  const auto rate = [&](const Fabric& f) { return 1 / priced(Algorithm::direct, Collective::send_recv, f, c).rate; };
  struct Case {
    int release, gpus, nodes, channels;
  };
  // send_recvs of H100 with NCCL 2.29.2 and of B200 with 2.29.7 and 2.28.9: 44, 25, 15; 43, 26; 34, 17 GB/s
  for (const Case& at : {Case{29, 1, 2, 4}, {29, 8, 2, 4}, {29, 1, 10, 2}, {29, 2, 10, 2}, {29, 4, 10, 2}, {29, 8, 10, 1}, {29, 8, 4, 4},
                         {29, 8, 8, 2}, {28, 8, 2, 2}, {28, 8, 4, 2}, {28, 8, 8, 1}}) {
    INFO("2." << at.release << ", " << at.nodes << " x " << at.gpus);
    Fabric f = cluster(1, at.nodes);
    f.tuner = tuner_of_version(2, at.release);
    f.generation = Generation::hopper;
    f.communicator = at.gpus * at.nodes;
    CHECK(fabricost::core::detail::send_channels(f) == at.channels);
    c.transport.send_channel = 10e9;
    CHECK(rate(f) == Approx(at.channels * 10e9));
    const auto transfer = [&] { return priced(Algorithm::direct, Collective::send_recv, f, c).transfer(1e9); };
    CHECK(transfer() == TermKind::kernels);
    c.transport.send_channel = 100e9;
    CHECK(rate(f) == Approx(0.98 * 50e9));
    CHECK(transfer() == TermKind::wire);
    f.outer_rate /= 2;
    CHECK(rate(f) == Approx(0.98 * 25e9));
  }
}

TEST_CASE("a message has a channel for each NIC of its GPU, and all of them however many GPUs stand beside it", "[price]") {
  Constants c = constants();
  c.transport.send_channel = 100e9;
  for (const auto& [release, nics, channels] : {std::tuple{28, 1, 2}, {28, 2, 2}, {28, 4, 4}, {29, 1, 4}, {29, 8, 8}})
    for (const int gpus : {1, 8}) {
      Fabric f = cluster(gpus, 2);
      f.tuner = tuner_of_version(2, release);
      f.generation = Generation::hopper;
      f.communicator = 16;
      f.nics = nics;  // of the GPU that sends
      f.outer_rate = 50e9;
      INFO("2." << release << ", " << gpus << " GPUs of " << nics << " NICs");
      CHECK(fabricost::core::detail::send_channels(f) == channels);
      CHECK(1 / priced(Algorithm::direct, Collective::send_recv, f, c).rate == Approx(0.98 * 50e9));
    }
}

TEST_CASE("a tree's rate is the norm of its tiers' rates, of any order", "[price]") {
  Constants c = constants();
  Fabric f = cluster(8, 2);
  f.library = Library::rccl;  // no table of its kernels' rates
  const double inside = c.scale_up.simple.rate_share * f.inner_rate / 2, across = c.transport.efficiency * f.outer_rate;
  for (const double q : {1.0, 2.0, 4.0, 6.0, 12.0}) {
    c.transport.form.tree_rate_overlap = q;
    CHECK(1 / priced(Algorithm::tree, Collective::all_reduce, f, c).rate == Approx(std::pow(std::pow(inside, -q) + std::pow(across, -q), -1 / q)));
  }
}

TEST_CASE("trees move no more than all NICs of the fullest node carry, whatever the constants", "[price]") {
  Constants c = constants();
  c.transport.efficiency = 3;
  for (const auto& [nodes, leaving] : {std::pair{2, 1.0}, {3, 1.5}, {16, 2.0}})
    for (const Algorithm a : {Algorithm::tree, Algorithm::nvls_tree}) {
      Fabric f = cluster(8, nodes, 1e15, 50e9);
      f.library = Library::rccl;
      f.ring_taper = 0.5;
      CHECK(1 / priced(a, Collective::all_reduce, f, c).rate == Approx(0.5 * 8 * 50e9 / leaving));
    }
}

TEST_CASE("staging in host memory takes its share of the network's rate under every algorithm", "[price]") {
  Constants c = constants();
  c.transport.no_gdr_rate = 0.5;
  Fabric f = cluster(8, 4, 1e17, 50e9);
  f.library = Library::rccl;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvls_tree, Algorithm::direct, Algorithm::hierarchical}) {
    const bool exchange = algorithm == Algorithm::direct || algorithm == Algorithm::hierarchical;
    const Collective op = exchange ? Collective::all_to_all : Collective::all_reduce;
    f.gpu_direct = true;
    const double directly = priced(algorithm, op, f, c).rate;
    f.gpu_direct = false;
    INFO(name(algorithm));
    CHECK(priced(algorithm, op, f, c).rate == Approx(2 * directly));
  }
}

TEST_CASE("an in-switch tree is held by its kernels where neither tier is slower", "[price]") {
  const auto line_of = [](double inner, double nic) {
    Fabric f = cluster(8, 4, inner, nic);
    f.generation = Generation::hopper;
    return priced(Algorithm::nvls_tree, Collective::all_reduce, f, constants());
  };
  CHECK(line_of(4000e9, 1000e9).transfer(1e9) == TermKind::kernels);
  CHECK(line_of(4000e9, 10e9).transfer(1e9) == TermKind::wire);
  CHECK(line_of(4000e9, 10e9).wire_level == 1);
  CHECK(line_of(100e9, 1000e9).transfer(1e9) == TermKind::wire);
  CHECK(line_of(100e9, 1000e9).wire_level == 0);
}

TEST_CASE("a tree between servers moves no more than NCCL's rate of one channel a device", "[price]") {
  Constants c = constants();
  Fabric f = cluster(8, 4, 4000e9, 50e9);
  f.nics = 8;
  f.library = Library::rccl;
  const double free = 1 / priced(Algorithm::tree, Collective::all_reduce, f, c).rate;
  f.library = Library::nccl;
  f.generation = Generation::blackwell;
  const Line line = priced(Algorithm::tree, Collective::all_reduce, f, c);
  CHECK(1 / line.rate == Approx(8 * 24e9 * 32 / 62.0));  // perChMaxTreeBws of more than two nodes
  CHECK(1 / line.rate < free);
  CHECK(line.transfer(1e9) == TermKind::kernels);
  CHECK(priced(Algorithm::tree, Collective::broadcast, f, c).transfer(1e9) == TermKind::wire);
  CHECK(line.wire_level == 0);
  f.levels = Levels{8, 2};
  CHECK(1 / priced(Algorithm::tree, Collective::all_reduce, f, c).rate == Approx(8 * 42.8e9 * 16 / 30.0));
  CHECK(1 / priced(Algorithm::tree, Collective::broadcast, f, c).rate > 8 * 42.8e9 * 16 / 30.0);
}

TEST_CASE("CollNet's rate is the norm of a domain's and the network's, and each tier has its part of the time", "[price]") {
  Constants c = constants();
  Fabric f = cluster(8, 4);
  f.library = Library::nccl;
  const double across = 1 / (c.transport.efficiency * f.outer_rate), order = c.transport.form.collnet_overlap;
  for (const auto& [algorithm, through] : {std::pair{Algorithm::collnet_chain, 2.0}, std::pair{Algorithm::collnet_direct, 2 * 7 / 8.0}}) {
    INFO(name(algorithm));
    const double inside = through / (c.scale_up.simple.rate_share * f.inner_rate);
    const Line line = priced(algorithm, Collective::all_reduce, f, c);
    CHECK(line.rate == Approx(std::pow(std::pow(inside, order) + std::pow(across, order), 1 / order)));
    REQUIRE(line.rate_parts.size() == 2);
    CHECK(line.rate_parts[0].value() / line.rate_parts[1].value() == Approx(std::pow(inside / across, order)));
    CHECK(line.wire_level == (across >= inside ? 1 : 0));
    const double inner_steps = algorithm == Algorithm::collnet_chain ? 14 : 2, step = c.transport.form.unfitted_step * c.transport.ring_simple_step;
    CHECK(line(0) == Approx(c.scale_up.launch + c.scale_up.simple.floor + inner_steps * c.scale_up.simple.hop + 2 * step));
  }
  for (const Collective op : {Collective::all_gather, Collective::reduce_scatter}) {  // one direction is full, as of a send
    const double inside = 7.0 / 8 / (c.scale_up.simple.rate_share * f.inner_rate);
    const double one_way = 1 / (c.transport.form.send_recv_efficiency * f.outer_rate);
    const Line line = priced(Algorithm::collnet_direct, op, f, c);
    CHECK(line.rate == Approx(std::pow(std::pow(inside, order) + std::pow(one_way, order), 1 / order)));
  }
}

TEST_CASE("an exchange between nodes pays every remote rank, thrice when tiny on networks that do", "[price]") {
  const Constants c = constants();
  const auto& t = c.transport;
  Fabric f = cluster(8, 4);
  const double remote = 24, start = c.scale_up.launch + t.exchange_base;
  const Line line = priced(Algorithm::direct, Collective::all_to_all, f, c);
  const auto latency = [&](const Line& l, double a_rank) { return l(32 * a_rank) - l.volume(32 * a_rank); };
  CHECK(latency(line, 0) == Approx(start + remote * 3 * t.exchange_peer));
  CHECK(latency(line, 128) == Approx(start + remote * 3 * t.exchange_peer));
  CHECK(latency(line, 256) == Approx(start + remote * t.exchange_peer));
  CHECK(latency(line, 16 * 1024) == Approx(start + remote * t.exchange_peer));
  CHECK(latency(line, 16 * 1024 + 1) == Approx(start + remote * (t.exchange_peer + t.exchange_peer_simple)));
  for (const auto& [a_rank, open] : {std::pair{128, 0}, {150, -1}, {200, 1}, {256, 0}})  // from 128 to 256 bytes nobody measured
    CHECK(line.alternative_seconds(32 * a_rank, line(32 * a_rank)) - line(32 * a_rank) == Approx(open * remote * 2 * t.exchange_peer).margin(1e-12));
  f.outer_latency_shift = 32e-6;  // one round of it for all 32 ranks
  CHECK(latency(priced(Algorithm::direct, Collective::all_to_all, f, c), 200) == Approx(start + remote * (t.exchange_peer + 1e-6)));
  f.outer_latency_shift = 0;
  f.inner_exchanges = 1e-3;  // then the inside binds
  const double inside = 8.0 / 32 / (c.scale_up.simple.rate_share * 400e9 * 1e-3);
  CHECK(priced(Algorithm::direct, Collective::all_to_all, f, c).rate == Approx(inside).epsilon(0.02));
}
