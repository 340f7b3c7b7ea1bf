// Other ways to communicate: windows, switches off, puts, relays, NICs in blocks. Closed forms, limits of each, and refusals.
#include "catch.hpp"
#include "support/systems.hpp"

#include <fabricost/fabricost.hpp>
#include <fabricost/predict/curve_array.hpp>

using namespace fabricost::core;
using namespace fabricost::core::units;

namespace {

double seconds(const System& s, const Operation& op, const Ways& ways, std::optional<Algorithm> algorithm = {}) {
  return predict(s, op, {.algorithm = algorithm, .ways = ways}).seconds;
}
/// The line of a ring under Simple.
Line ring_line(const System& s, const Operation& op, const Ways& ways) {
  return predict(s, op, {.algorithm = Algorithm::ring, .protocol = Protocol::simple, .ways = ways}).made_from.line;
}
Operation sized(Operation op, double bytes) {
  op.bytes = Bytes::from_value(bytes);
  return op;
}
void refused(const System& s, const Operation& op, const Ways& ways, const std::string& words, std::optional<Algorithm> algorithm = {}) {
  CHECK_THROWS_WITH(predict(s, op, {.algorithm = algorithm, .ways = ways}), Catch::Contains(words));
  CHECK_THROWS_AS(compile(s, op, {.algorithm = algorithm, .ways = ways}), RequestError);
}
/// GPUs that meet through two NICs each, one GPU to a node.
System two_nics() {
  System s = systems::lone_gpus();
  for (Tier& t : s.tiers)
    if (t.role == TierRole::nic) t.endpoints = 2;
  return s;
}
/// The NIC with most of a message of m bytes that k NICs take in turn, a block each.
double fullest(double m, double block, int k) {
  std::vector<double> load(static_cast<std::size_t>(k), 0);
  for (std::size_t nic = 0; m > 0; nic = (nic + 1) % load.size()) {
    load[nic] += std::min(m, block);
    m -= block;
  }
  return *std::max_element(load.begin(), load.end());
}

const Ways windows{.symmetric = true};

}  // namespace

TEST_CASE("kernels over windows never make a collective slower than the library's choice", "[predict]") {
  for (const System& s : {systems::hopper_box(), systems::blackwell_box(), systems::rack()})
    for (const Operation& op : {Operation(AllReduce{.ranks = 8}), Operation(AllReduce{.ranks = 4}), Operation(AllToAll{.ranks = 8})})
      for (double bytes = 8; bytes < 1e11; bytes *= 3) {
        const double own = seconds(s, sized(op, bytes), {}), with = seconds(s, sized(op, bytes), windows);
        CHECK(with <= own * (1 + 1e-9));
        if (bytes < 1e5) CHECK(with < 0.8 * own);
      }
}

TEST_CASE("one shot to two shots to the library's own, each at the sizes where it is fastest", "[predict]") {
  const System s = systems::rack();
  const Operation op = AllReduce{.ranks = 8};
  const Curve curve = compile(s, op, {.ways = windows});
  CHECK(curve.ran_at(64).kernel == CollectiveKernel::window_one_shot);
  CHECK(curve.ran_at(4e6).kernel == CollectiveKernel::window_two_shot);
  CHECK(curve.ran_at(4e9).kernel == CollectiveKernel::library);
  for (double bytes = 8; bytes < 1e11; bytes *= 1.7) {  // however it is asked
    CHECK(curve.seconds(bytes) == Approx(seconds(s, sized(op, bytes), windows)).epsilon(1e-8));
    const double one = seconds(s, sized(op, bytes), windows, Algorithm::one_shot);
    const double two = seconds(s, sized(op, bytes), windows, Algorithm::two_shot);
    CHECK(curve.seconds(bytes) == Approx(std::min({one, two, seconds(s, sized(op, bytes), {})})).epsilon(1e-8));
  }
}

TEST_CASE("gathering and scattering over windows: flags while latency matters, then barriers and every byte once", "[predict]") {
  const System s = systems::rack();
  for (const Operation& op : {Operation(AllGather{.ranks = 8}), Operation(ReduceScatter{.ranks = 8})}) {
    const Curve curve = compile(s, op, {.ways = windows});
    CHECK(curve.ran_at(64).kernel == CollectiveKernel::window_flags);
    CHECK(curve.ran_at(4e6).kernel == CollectiveKernel::window_exchange);
    for (double bytes = 8; bytes < 1e10; bytes *= 1.7) {
      const double own = seconds(s, sized(op, bytes), {}), with = seconds(s, sized(op, bytes), windows);
      const double forced = seconds(s, sized(op, bytes), windows, Algorithm::direct);
      CHECK(with == Approx(std::min(own, forced)).epsilon(1e-8));
      CHECK(with > 7.0 / 8 * bytes / 900e9);
    }
    // a trip and the stores to seven peers, as an exchange without barriers takes
    const Ways exchange{.symmetric = true, .barrier_free = true};
    CHECK(seconds(s, sized(op, 8), windows) == Approx(seconds(s, sized(AllToAll{.ranks = 8}, 8), exchange, Algorithm::direct)));
  }
}

TEST_CASE("kernels over windows need NVLink, not switches that add: without these they send all parts themselves", "[predict]") {
  const System plain = systems::ampere_box();
  System mesh = systems::full_mesh_box();
  mesh.library = Library::nccl;
  for (const System* s : std::initializer_list<const System*>{&plain, &mesh})
    for (const Operation& op : {Operation(AllReduce{.ranks = 8}), Operation(AllGather{.ranks = 8}), Operation(ReduceScatter{.ranks = 8})})
      for (double bytes = 8; bytes < 1e10; bytes *= 3) {
        const double with = seconds(*s, sized(op, bytes), windows);
        CHECK(with <= seconds(*s, sized(op, bytes), {}) * (1 + 1e-9));
        const double sent = (op.collective == Collective::all_reduce ? 2 : 1) * 7.0 / 8 * bytes;
        CHECK(with > sent / s->tier(TierRole::scale_up)->bandwidth.value.value());
      }
}

TEST_CASE("barriers cost a signal to every peer, thread blocks bound what a kernel stores", "[predict]") {
  const System s = systems::rack();
  for (const double bytes : {64.0, 1e6, 1e8}) {
    const Operation op = sized(AllReduce{.ranks = 8}, bytes);
    double before = 1e9;
    for (const int count : {1, 2, 4, 8, 64}) {
      const auto blocks = static_cast<unsigned short>(count);
      const double t = seconds(s, op, {.ctas = blocks, .symmetric = true}, Algorithm::two_shot);
      CHECK(t <= before);
      CHECK(seconds(s, op, {.ctas = blocks, .symmetric = true, .barrier_free = true}, Algorithm::two_shot) < t);
      before = t;
    }
    CHECK(seconds(s, op, windows, Algorithm::two_shot) <= before);
  }
  const auto barrier = [&](int ranks) {
    const Operation op = sized(AllToAll{.ranks = ranks}, 64);
    return seconds(s, op, windows, Algorithm::direct) - seconds(s, op, {.symmetric = true, .barrier_free = true}, Algorithm::direct);
  };
  CHECK(barrier(32) == Approx(4 * barrier(8)).epsilon(0.05));
}

TEST_CASE("no way beats the links, and none but a relay's start takes less time for more bytes", "[predict]") {
  const System nics = two_nics();
  const auto holds = [](const System& s, const Operation& op, const Ways& ways, std::optional<Algorithm> algorithm = {}) {
    double before = 0;
    for (double bytes = 1; bytes < 1e12; bytes *= 1.37) {
      Choice choice{.algorithm = algorithm, .ways = ways};
      if (ways.nic_block > 0) choice.protocol = Protocol::simple;  // a change of protocol is a step of its own
      const Prediction p = predict(s, sized(op, bytes), choice);
      double sum = 0;
      for (const Term& t : p.terms) sum += t.time.value();
      CHECK(sum == Approx(p.seconds));
      CHECK((p.min <= p.low && p.low <= p.seconds && p.seconds <= p.high));
      CHECK(p.seconds >= before * (1 - 1e-9));
      before = p.seconds;
    }
  };
  holds(systems::rack(), AllReduce{.ranks = 72}, windows, Algorithm::one_shot);
  holds(systems::rack(), AllReduce{.ranks = 72}, {.ctas = 4, .symmetric = true}, Algorithm::two_shot);
  holds(systems::rack(), AllToAll{.ranks = 72}, windows, Algorithm::direct);
  holds(systems::rack(), AllGather{.ranks = 72}, {.copy_engine = true});
  holds(systems::rack(), AllToAll{.ranks = 72}, {.copy_engine = true});
  holds(systems::rack(), AllReduce{.ranks = 72}, {.any_buffer = true});
  holds(systems::hopper_box(), SendRecv{.path = Path::nic}, {.put = Put::counter});
  holds(systems::hopper_box(), SendRecv{.path = Path::nic}, {.gin = true});
  holds(nics, AllGather{.ranks = 8}, {.nic_block = 4194304}, Algorithm::ring);
  holds(nics, AllGather{.ranks = 8}, {.nic_block = 4194304}, Algorithm::halving_doubling);
}

TEST_CASE("without in-switch reduction rings and trees run, and 5 to 8 ranks of Hopper lose by it", "[predict]") {
  const System s = systems::hopper_box();
  for (int n = 2; n <= 8; ++n) {
    INFO(n << " ranks");
    const Operation op = AllReduce{.bytes = GiB(8), .ranks = n};
    const Prediction own = predict(s, op), off = predict(s, op, {.ways = {.nvls = false}});
    CHECK(off.ran.algorithm == Algorithm::ring);
    CHECK((own.ran.algorithm == Algorithm::nvls) == (n >= 5));
    CHECK((own.seconds < off.seconds) == (n >= 5));
  }
  // the same bytes a second, however many ranks
  const auto seconds = [&](int n) { return predict(s, AllReduce{.bytes = GiB(64), .ranks = n}, {.algorithm = Algorithm::nvls}).seconds; };
  for (const int n : {5, 6, 7}) CHECK(seconds(n) == Approx(seconds(8)).epsilon(0.01));
}

TEST_CASE("a put by the GPU saves the proxy's posts, one of them or two, and never costs", "[predict]") {
  const System s = systems::hopper_box();
  const Operation op = SendRecv{.path = Path::nic};
  for (const Put end : {Put::counter, Put::local, Put::signal})
    for (double bytes = 8; bytes < 1e11; bytes *= 5)
      CHECK(seconds(s, sized(op, bytes), {.put = end, .gin = true}) < seconds(s, sized(op, bytes), {.put = end}));
  const auto posts = [&](Put end) { return seconds(s, sized(op, 8), {.put = end}) - seconds(s, sized(op, 8), {.put = end, .gin = true}); };
  CHECK(posts(Put::counter) == Approx(17e-6).epsilon(1e-3));
  CHECK(posts(Put::signal) == Approx(2 * posts(Put::counter)).epsilon(1e-3));
  CHECK(seconds(s, sized(op, 8), {.put = Put::local, .gin = true}) < seconds(s, sized(op, 8), {.put = Put::counter, .gin = true}));
  CHECK(seconds(s, sized(op, 8), {.gin = true}) == seconds(s, sized(op, 8), {.put = Put::counter, .gin = true}));
}

TEST_CASE("idle GPUs of a mesh carry a third of a link each, from 8 MiB over a link on", "[predict]") {
  const System s = systems::full_mesh_box();
  const Ways relays{.relay = true};
  for (const int n : {2, 4, 7}) {
    INFO(n << " ranks");
    const double d = n - 1, i = 8 - n;
    for (const Operation& op : {Operation(AllReduce{.ranks = n}), Operation(AllToAll{.ranks = n})}) {
      const auto moving = [&](const Ways& ways) {  // the copies inside a GPU stay as they are
        double out = 0;
        for (const Term& term : predict(s, sized(op, 1e15), {.ways = ways}).terms) out += is_transfer(term.name.view()) ? term.time.value() : 0;
        return out;
      };
      const double ratio = moving({}) / moving(relays);
      CHECK(ratio == Approx(1 + 0.33 * i / d).epsilon(0.02));
      CHECK(ratio <= 7 / d);
      CHECK(seconds(s, sized(op, 1e5), {}) == seconds(s, sized(op, 1e5), relays));
    }
  }
}

TEST_CASE("NICs filled in blocks wait for the fullest", "[predict]") {
  const System s = two_nics();
  for (const int n : {4, 16}) {
    for (const double block : {1048576.0, 4194304.0}) {
      const Operation op = AllGather{.bytes = MiB(1), .ranks = n, .nodes = n};
      for (double message = 65536; message < 1e9; message *= 1.7) {
        const double bytes = message * n;
        const auto moved = [&](const Ways& ways) { return ring_line(s, op, ways).volume(bytes); };
        CHECK(moved({.nic_block = block}) == Approx(moved({}) * 2 * fullest(message, block, 2) / message));
      }
    }
  }
}

TEST_CASE("without PXN an exchange between nodes crosses rails, and rings do not", "[predict]") {
  const System s = systems::hopper_box();
  const Ways crossing{.pxn = false};
  CHECK(seconds(s, AllToAll{.bytes = GiB(64), .ranks = 16}, crossing) > 2 * seconds(s, AllToAll{.bytes = GiB(64), .ranks = 16}, {}));
  CHECK(seconds(s, AllReduce{.bytes = GiB(1), .ranks = 16}, crossing) == Approx(seconds(s, AllReduce{.bytes = GiB(1), .ranks = 16}, {})));
  CHECK(seconds(s, AllToAll{.bytes = GiB(1), .ranks = 8}, crossing) == Approx(seconds(s, AllToAll{.bytes = GiB(1), .ranks = 8}, {})));
}

TEST_CASE("without PXN is refused where no rail is to be reached", "[predict]") {
  System tree = systems::hopper_box();
  for (Tier& t : tree.tiers)
    if (t.role == TierRole::nic || t.role == TierRole::network) t.kind = TierKind::fat_tree;
  refused(tree, AllToAll{.bytes = GiB(1), .ranks = 16}, {.pxn = false}, "without rails");
  refused(tree, AllReduce{.bytes = GiB(1), .ranks = 8}, {.pxn = false}, "without rails");
}

TEST_CASE("without PXN an exchange is refused where nothing joins the rails", "[predict]") {
  System rails = systems::hopper_box();
  for (Tier& t : rails.tiers)
    if (t.role == TierRole::network) t.kind = TierKind::rails;
  refused(rails, AllToAll{.bytes = GiB(1), .ranks = 16}, {.pxn = false}, "no switch joins the rails");
  CHECK_NOTHROW(predict(rails, AllToAll{.bytes = GiB(1), .ranks = 2, .nodes = 2}, {.ways = {.pxn = false}}));  // of one rail
  CHECK_NOTHROW(predict(rails, AllReduce{.bytes = GiB(1), .ranks = 16}, {.ways = {.pxn = false}}));
  rails.tiers.push_back(systems::network("spine", 32));
  CHECK_NOTHROW(predict(rails, AllToAll{.bytes = GiB(1), .ranks = 16}, {.ways = {.pxn = false}}));
}

TEST_CASE("NCCL 2.31's kernels for any buffer end at the largest size that was measured", "[predict]") {
  const System s = systems::rack();
  const Ways newer{.any_buffer = true};
  for (const int n : {4, 8}) {
    const auto curve = compile(s, AllReduce{.ranks = n}, {.ways = newer});
    CHECK(curve.ran_at(1048576).kernel != CollectiveKernel::library);
    CHECK(curve.ran_at(1048577).kernel == CollectiveKernel::library);
    for (const double bytes : {1048577.0, 2e6, 1e9})
      CHECK(seconds(s, sized(AllReduce{.ranks = n}, bytes), newer) == Approx(seconds(s, sized(AllReduce{.ranks = n}, bytes), {})));
  }
}

TEST_CASE("NCCL 2.31 reduces 128 KiB to 1 MiB of any buffer in two trips, whatever the ranks", "[predict]") {
  const System s = systems::rack();
  const Ways newer{.any_buffer = true};
  for (double bytes = 131072; bytes <= 1048576; bytes *= 2) {
    INFO(bytes);
    const double four = seconds(s, sized(AllReduce{.ranks = 4}, bytes), newer);
    const double eight = seconds(s, sized(AllReduce{.ranks = 8}, bytes), newer);
    CHECK(eight == Approx(four).epsilon(0.05));
    CHECK(eight < 0.8 * seconds(s, sized(AllReduce{.ranks = 8}, bytes), {}));
  }
  CHECK(compile(s, AllReduce{.ranks = 8}, {.ways = newer}).ran_at(4096).kernel == CollectiveKernel::any_buffer);
  CHECK(compile(s, AllReduce{.ranks = 8}, {.ways = newer}).ran_at(524288).kernel == CollectiveKernel::any_buffer_two_shot);
  CHECK(compile(s, AllReduce{.ranks = 8}, {.ways = newer}).ran_at(4e9).kernel == CollectiveKernel::library);
}

TEST_CASE("copy engines start slowly, in a graph with every rank, and then copy at nearly the links' rate", "[predict]") {
  const Ways engines{.copy_engine = true};
  for (const System& s : {systems::hopper_box(), systems::rack()})
    for (const Operation& op : {Operation(AllGather{.ranks = 8}), Operation(AllToAll{.ranks = 8})}) {
      INFO(s.name << ", " << name(op.collective));
      CHECK(seconds(s, sized(op, 1024), engines) > 1.5 * seconds(s, sized(op, 1024), {}));
      CHECK(seconds(s, sized(op, 1e10), engines) < seconds(s, sized(op, 1e10), {}));
      const double share = 7.0 / 8 * 1e13 / (450e9 * (s.name == systems::rack().name ? 2 : 1)) / seconds(s, sized(op, 1e13), engines);
      CHECK(share == Approx(prior::ways::ce_share).epsilon(0.01));
      // beyond the start, every byte takes the same time: there are no steps whose latency another one hides
      const auto t = [&](double bytes) { return seconds(s, sized(op, bytes), engines); };
      CHECK(t(4e9) - t(3e9) == Approx(t(3e9) - t(2e9)));
    }
  const System s = systems::rack();
  const auto started = [&](int n, LaunchMode mode, Collective op) {
    const Operation one{.collective = op, .bytes = Bytes::from_value(1), .ranks = n};
    return predict(s, one, {.launch = {.mode = mode}, .ways = engines}).seconds;
  };
  for (const Collective op : {Collective::all_gather, Collective::all_to_all}) {
    const double in_graph = started(72, LaunchMode::graph, op) - started(8, LaunchMode::graph, op);
    const double in_stream = started(72, LaunchMode::queued, op) - started(8, LaunchMode::queued, op);
    CHECK(in_graph > 10 * in_stream);  // the flags of all peers are reset in the graph
  }
  // multicast saves copies of small parts, and then loses the n-th part that a rank has already
  const Curve gather = compile(s, AllGather{.ranks = 8}, {.ways = engines});
  CHECK(gather.ran_at(1e4).kernel == CollectiveKernel::copy_engine_multicast);
  CHECK(gather.ran_at(1e10).kernel == CollectiveKernel::copy_engine);
  CHECK(compile(s, AllToAll{.ranks = 8}, {.ways = engines}).ran_at(1e4).kernel == CollectiveKernel::copy_engine);
}

TEST_CASE("a message is relayed through the GPUs of the mesh that take no part, as many as there are", "[predict]") {
  const System s = systems::full_mesh_box();
  const auto saved = [&](int ranks) {
    const Operation op{.collective = Collective::send_recv, .bytes = GiB(4), .ranks = ranks, .nodes = 1};
    return seconds(s, op, {}) / seconds(s, op, {.relay = true});
  };
  CHECK(saved(2) > saved(4));
  CHECK(saved(4) > saved(7));
  CHECK(saved(7) > 1);
}

TEST_CASE("what switches cannot combine runs as with nvls off", "[predict]") {
  const System s = systems::hopper_box();
  const Operation half = AllReduce{.bytes = GiB(1), .ranks = 8}, wide = AllReduce{.bytes = GiB(1), .ranks = 8, .dtype = DataType::single};
  const double switched = seconds(s, half, {}), rings = seconds(s, half, {.nvls = false});
  CHECK(seconds(s, half, {.redop = Reduction::max}) == Approx(switched));
  CHECK(seconds(s, half, {.redop = Reduction::prod}) == Approx(rings));
  CHECK(seconds(s, half, {.redop = Reduction::avg}) == Approx(rings));
  CHECK(seconds(s, wide, {.redop = Reduction::max}) == Approx(seconds(s, wide, {.nvls = false})));
  CHECK(rings > 1.1 * switched);
  refused(s, AllGather{.bytes = KiB(1), .ranks = 8}, {.redop = Reduction::max}, "combines no values");
  refused(s, AllReduce{.bytes = KiB(1), .ranks = 8, .dtype = DataType::double_precision}, {.symmetric = true}, "nothing else");
  refused(s, AllReduce{.bytes = KiB(1), .ranks = 8}, {.redop = Reduction::max, .symmetric = true}, "nothing else");
}

TEST_CASE("arrays, sweeps and single sizes agree under every way", "[predict]") {
  const auto agree = [](const System& s, const Operation& op, const Choice& choice) {
    std::vector<double> sizes;
    for (double bytes = 10; bytes < 1e10; bytes *= 1.11) sizes.push_back(bytes);
    std::vector<double> times(sizes.size());
    evaluate(compile(s, op, choice), sizes, times);
    for (std::size_t i = 0; i < sizes.size(); ++i) CHECK(times[i] == Approx(predict(s, sized(op, sizes[i]), choice).seconds).epsilon(1e-8));
  };
  agree(systems::rack(), AllReduce{.ranks = 8}, {.ways = windows});
  agree(systems::rack(), AllReduce{.ranks = 8}, {.ways = {.any_buffer = true}});
  agree(systems::rack(), AllGather{.ranks = 8}, {.ways = {.copy_engine = true}});
  agree(systems::full_mesh_box(), AllToAll{.ranks = 4}, {.ways = {.relay = true}});
  agree(two_nics(), AllGather{.ranks = 8}, {.algorithm = Algorithm::ring, .ways = {.nic_block = 1048576}});
}
