// The advice of tune, computed again one size at a time.
#include "plugin.hpp"
#include "tuned.hpp"

#include <fabricost/choice/candidates.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"
#include "support/systems.hpp"

#include <catch.hpp>

#include <cctype>
#include <cmath>
#include <random>

using namespace fabricost::plan;

namespace {

constexpr double MiB = 1048576;

Prediction asked(const System& system, const TunedGroup& shape, Collective c, DataType dtype, double bytes, const Choice& choice = {}) {
  return predict(system, {.collective = c, .bytes = Bytes::from_value(bytes), .ranks = shape.ranks, .nodes = shape.nodes, .dtype = dtype},
                 choice);
}
double half_width(const Prediction& p) { return 0.5 * std::log(p.high / p.low); }

std::vector<std::pair<System, TuneRequest>> machines() {
  const auto nodes = [](std::vector<int> n) {
    TuneRequest out;
    out.nodes.values = std::move(n);
    return out;
  };
  const auto ranks = [](int n) {
    TuneRequest out;
    out.ranks = n;
    return out;
  };
  TuneRequest bytes;
  bytes.dtype = DataType::int8;
  std::vector<std::pair<System, TuneRequest>> out{{load_system("dgx-a100"), ranks(4)},        {load_system("dgx-h100"), {}},
                                                  {load_system("dgx-b200"), bytes},           {load_system("l40s-pcie"), {}},
                                                  {load_system("alps-gh200"), nodes({8})},    {load_system("aws-p5"), nodes({4})},
                                                  {systems::grace_hopper_quad(), nodes({3})}, {systems::rack(), {}}};
  System sharp = systems::hopper_box();
  sharp.tiers[1].sharp = true;
  out.emplace_back(std::move(sharp), nodes({16}));
  return out;
}

}  // namespace

TEST_CASE("over a slow range NCCL runs the named pair and the other is faster, at every size", "[tune]") {
  std::mt19937_64 random(20240607);
  int ranges = 0;
  for (const auto& [system, options] : machines()) {
    const TuneAnswer report = tuned::tune(system, options);
    for (const SlowChoice& r : report.ranges) {
      ++ranges;
      std::vector<double> sizes{r.smallest.value(), r.largest.value(), r.bytes.value()};
      for (int i = 0; i < 20; ++i) sizes.push_back(std::floor(std::uniform_real_distribution<>{r.smallest.value(), r.largest.value() + 1}(random)));
      for (const double bytes : sizes) {
        const TunedGroup shape{r.nodes, r.ranks};
        const Prediction now = asked(system, shape, tuned::collective(r), tuned::dtype(report), bytes);
        const Prediction better =
            asked(system, shape, tuned::collective(r), tuned::dtype(report), bytes, {.algorithm = tuned::better(r).algorithm, .protocol = tuned::better(r).protocol});
        INFO(system.name << " " << name(tuned::collective(r)) << " " << bytes << " of " << r.smallest.value() << " to " << r.largest.value());
        REQUIRE(now.ran == tuned::now(r));
        REQUIRE(better.ran == tuned::better(r));
        REQUIRE(std::log(now.seconds / better.seconds) > 0.0499);
        if (r.sure) REQUIRE(std::log(now.seconds / better.seconds) > std::hypot(half_width(now), half_width(better)) * (1 - 1e-9));
        if (bytes == r.bytes.value()) {
          CHECK(now.seconds == Approx(r.time.value()));
          CHECK(better.seconds == Approx(r.better_time.value()));
        }
        CHECK(now.seconds - better.seconds <= r.lost.value() * (1 + 0.05));  // most is lost near where it says
      }
    }
  }
  CHECK(ranges > 40);
}

TEST_CASE("outside of the ranges no measured pair is faster by more than a twentieth", "[tune]") {
  for (const auto& [system, options] : machines()) {
    const TuneAnswer report = tuned::tune(system, options);
    for (const TunedGroup& shape : report.groups)
      for (const Collective c : tuned_collectives)
        for (double bytes = tune_smallest; bytes <= tune_largest; bytes = std::floor(bytes * 1.07)) {
          if (tuned::range_at(report, c, bytes) != nullptr) continue;
          const Prediction now = asked(system, shape, c, tuned::dtype(report), bytes);
          for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
            // rings run everywhere and are measured everywhere
            if (p == Protocol::ll128 && !has_ll128(fabric_of(system, now.operation))) continue;
            const Prediction ring = asked(system, shape, c, tuned::dtype(report), bytes, {.algorithm = Algorithm::ring, .protocol = p});
            if (std::log(now.seconds / ring.seconds) > 0.0501)
              FAIL_CHECK(system.name << " " << name(c) << " " << bytes << ": ring " << name(p) << " saves "
                                     << 100 * (1 - ring.seconds / now.seconds) << " % and no range says so");
          }
        }
  }
}

TEST_CASE("ranges are whole bytes, do not overlap and stay within 1 KiB and 8 GiB", "[tune]") {
  for (const auto& [system, options] : machines()) {
    const TuneAnswer report = tuned::tune(system, options);
    for (const SlowChoice& a : report.ranges) {
      CHECK(a.smallest.value() == std::floor(a.smallest.value()));
      CHECK(a.largest.value() == std::floor(a.largest.value()));
      CHECK((tune_smallest <= a.smallest.value() && a.smallest.value() <= a.largest.value() && a.largest.value() <= tune_largest));
      CHECK((a.smallest.value() <= a.bytes.value() && a.bytes.value() <= a.largest.value()));
      for (const SlowChoice& b : report.ranges)
        if (&a != &b && a.operation == b.operation && a.nodes == b.nodes) CHECK((a.largest.value() < b.smallest.value() || b.largest.value() < a.smallest.value()));
    }
  }
}

TEST_CASE("sure ranges come first and those that lose most time before others", "[tune]") {
  const TuneAnswer report = tuned::tune(load_system("aws-p5"), {.nodes = {{2, 4, 8}}});
  REQUIRE(report.ranges.size() > 4);
  for (std::size_t i = 1; i < report.ranges.size(); ++i) {
    const SlowChoice &a = report.ranges[i - 1], &b = report.ranges[i];
    CHECK((a.sure || !b.sure));
    if (a.sure == b.sure) CHECK(a.lost.value() >= b.lost.value());
  }
  CHECK(report.groups == std::vector<TunedGroup>{{2, 16}, {4, 32}, {8, 64}});
}

TEST_CASE("the cliffs NCCL is known for are found", "[tune]") {
  // measured: 23 to 53 us from 1 to 2 MiB on 4 A100, 44 to 102 us from 8 to 16 MiB on 8 B200
  TuneRequest four;
  four.ranks = 4;
  four.operation = TunedOperation::all_gather;
  const TuneAnswer ampere = tuned::tune(load_system("dgx-a100"), four);
  const SlowChoice* two_mebibytes = tuned::range_at(ampere, Collective::all_gather, 2 * MiB);
  REQUIRE(two_mebibytes != nullptr);
  CHECK(two_mebibytes->sure);
  CHECK(tuned::now(*two_mebibytes) == Candidate{Algorithm::ring, Protocol::simple});
  CHECK(two_mebibytes->lost_share > 0.3);
  CHECK(tuned::range_at(ampere, Collective::all_gather, 1 * MiB) == nullptr);

  const TuneAnswer blackwell = tuned::tune(load_system("dgx-b200"));
  for (const Collective c : {Collective::all_gather, Collective::reduce_scatter}) {
    const SlowChoice* sixteen = tuned::range_at(blackwell, c, 16 * MiB);
    REQUIRE(sixteen != nullptr);
    CHECK(sixteen->sure);
    CHECK(tuned::better(*sixteen) == Candidate{Algorithm::ring, Protocol::ll128});
    CHECK(sixteen->lost_share > 0.35);
  }
}

TEST_CASE("only what NCCL can be made to run is recommended", "[tune]") {
  for (const auto& [system, options] : machines()) {
    const TuneAnswer report = tuned::tune(system, options);
    for (const SlowChoice& r : report.ranges) {
      INFO(system.name << " " << name(tuned::collective(r)) << " " << name(tuned::better(r).algorithm));
      CHECK((tuned::better(r).algorithm == Algorithm::ring || tuned::better(r).algorithm == Algorithm::tree || tuned::better(r).algorithm == Algorithm::nvls ||
             tuned::better(r).algorithm == Algorithm::nvls_tree || tuned::better(r).algorithm == Algorithm::collnet_direct ||
             tuned::better(r).algorithm == Algorithm::collnet_chain));  // PAT has no fit
      if (tuned::better(r).algorithm == Algorithm::collnet_chain) CHECK(tuned::collective(r) == Collective::all_reduce);
      if (tuned::better(r).algorithm == Algorithm::tree) CHECK((tuned::collective(r) == Collective::all_reduce && r.nodes > 1));
      if (tuned::better(r).algorithm == Algorithm::nvls) CHECK((tuned::collective(r) == Collective::all_reduce && r.ranks >= 8));
      CHECK_FALSE(is_exchange(tuned::collective(r)));
    }
  }
}

TEST_CASE("pairs that no fit covers are mentioned", "[tune]") {
  const auto mentions = [](const TuneAnswer& report, Collective c, Algorithm a) {
    for (const UnmeasuredChoice& p : report.unmeasured)
      if (p.operation == name(c) && p.algorithm == name(a)) return true;
    return false;
  };
  const TuneAnswer hopper = tuned::tune(load_system("dgx-h100"));
  CHECK(mentions(hopper, Collective::all_gather, Algorithm::nvls));
  CHECK(mentions(hopper, Collective::all_reduce, Algorithm::tree));
  CHECK_FALSE(mentions(hopper, Collective::all_reduce, Algorithm::nvls));
  CHECK_FALSE(mentions(hopper, Collective::broadcast, Algorithm::tree));  // NCCL has none
  TuneRequest sixteen;
  sixteen.nodes = {{16}};
  System sharp = systems::hopper_box();
  sharp.tiers[1].sharp = true;
  CHECK_FALSE(mentions(tuned::tune(sharp, sixteen), Collective::all_reduce, Algorithm::collnet_chain));  // measured on two sites
  CHECK_FALSE(mentions(tuned::tune(systems::hopper_box(), sixteen), Collective::all_reduce, Algorithm::collnet_chain));
  CHECK(mentions(tuned::tune(systems::lone_gpus(), sixteen), Collective::all_gather, Algorithm::pat));
}

TEST_CASE("a library with tables of its own is never sure", "[tune]") {
  const TuneAnswer report = tuned::tune(load_system("mi300x-8"));
  for (const SlowChoice& r : report.ranges) CHECK_FALSE(r.sure);
  REQUIRE(report.doubts.size() >= 1);
  CHECK(support::contains(report.doubts.front(), "RCCL"));
}

TEST_CASE("less known machines lose less surely", "[tune]") {
  const auto sure = [](const TuneAnswer& report) {
    return std::count_if(report.ranges.begin(), report.ranges.end(), [](const SlowChoice& r) { return r.sure; });
  };
  const auto known = sure(tuned::tune(load_system("dgx-b200")));
  const auto datasheet = sure(tuned::tune(load_system("dgx-b200", {}, "none")));
  CHECK(known > datasheet);
}

TEST_CASE("what cannot be tuned is refused with the reason", "[tune]") {
  const auto refused = [](const System& system, const TuneRequest& options, std::string_view reason) {
    const std::string message = support::message_of([&] { return tuned::tune(system, options); });
    INFO(message);
    CHECK(support::contains(message, reason));
  };
  TuneRequest options;
  options.operation = static_cast<TunedOperation>(Collective::all_to_all);
  refused(systems::hopper_box(), options, "point to point");
  options = {};
  options.ranks = 9;
  options.nodes = {{1}};
  refused(systems::hopper_box(), options, "do not fit");
  options.ranks = 1;
  refused(systems::hopper_box(), options, "one rank");
  System other = systems::hopper_box();
  other.library = Library::oneccl;
  refused(other, {}, "oneccl");
}

TEST_CASE("the same nodes asked for twice are answered once", "[tune]") {
  const TuneAnswer once = tuned::tune(load_system("aws-p5"), {.nodes = {{2}}});
  const TuneAnswer twice = tuned::tune(load_system("aws-p5"), {.nodes = {{2, 2}}});
  CHECK(once.ranges.size() == twice.ranges.size());
  CHECK(twice.groups.size() == 1);
}

// The export, read back by the rules of the plugin it is for.

namespace {

struct Asked {
  const char* system;
  TuneRequest options;
};
std::vector<Asked> questions() {
  const auto shape = [](std::vector<int> nodes, int ranks, DataType dtype = DataType::half) {
    TuneRequest out;
    out.nodes.values = std::move(nodes);
    out.ranks = ranks;
    out.dtype = dtype;
    return out;
  };
  return {{"dgx-a100", shape({}, 4)},       {"dgx-b200", shape({}, 8)},  {"dgx-b200", shape({}, 8, DataType::int8)},
          {"aws-p5", shape({2, 4, 8}, 0)},  {"l40s-pcie", shape({}, 8)}, {"alps-gh200", shape({2, 16, 64}, 0)},
          {"superpod-b200", shape({16}, 0)}};
}

/// all_gather -> allgather
std::string squeezed(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += c;
  return out;
}

const SlowChoice* sure_range(const TuneAnswer& report, Collective c, double bytes, const TunedGroup& shape) {
  for (const SlowChoice& r : report.ranges)
    if (r.sure && tuned::collective(r) == c && r.smallest.value() <= bytes && bytes <= r.largest.value() && TunedGroup{r.nodes, r.ranks} == shape) return &r;
  return nullptr;
}

}  // namespace

TEST_CASE("the plugin understands every line of the export", "[tune]") {
  int lines = 0;
  for (const Asked& q : questions()) {
    INFO(q.system);
    const plugin::Config config = plugin::read(tuned::tune(load_system(q.system), q.options).config);
    for (const std::string& fault : config.faults) FAIL_CHECK(fault);
    lines += static_cast<int>(config.lines.size());
  }
  CHECK(lines > 10);
}

TEST_CASE("the plugin picks at every size what is surely faster there, and nothing elsewhere", "[tune]") {
  for (const Asked& q : questions()) {
    const TuneAnswer report = tuned::tune(load_system(q.system), q.options);
    const plugin::Config config = plugin::read(plugin_config(report));
    std::vector<double> sizes;
    for (double s = 256; s < 3e10; s *= 1.3) sizes.push_back(std::floor(s));
    for (const SlowChoice& r : report.ranges)
      for (const double s : {r.smallest.value() - 1, r.smallest.value(), r.bytes.value(), std::floor(0.5 * (r.smallest.value() + r.largest.value())), r.largest.value(), r.largest.value() + 1}) sizes.push_back(s);
    for (const TunedGroup& shape : report.groups)
      for (const Collective c : tuned_collectives)
        for (const double s : sizes) {
          const auto line = plugin::match(config, squeezed(name(c)), static_cast<std::uint64_t>(s), shape.nodes, shape.ranks);
          const SlowChoice* range = sure_range(report, c, s, shape);
          if (line.has_value() != (range != nullptr))
            FAIL_CHECK(q.system << " " << name(c) << " " << s << ": one has a line, the other not");
          if (!line || range == nullptr) continue;
          if (line->algorithm != range->better_algorithm || line->protocol != range->better_protocol)
            FAIL_CHECK(q.system << " " << name(c) << " " << s << ": " << line->algorithm << " " << line->protocol);
        }
    // other groups of ranks of the same job are left alone
    for (const Collective c : tuned_collectives) CHECK_FALSE(plugin::match(config, squeezed(name(c)), 16 << 20, 3, 24).has_value());
  }
}

TEST_CASE("NCCL keeps its own channels under every line", "[tune]") {
  const plugin::Config config = plugin::read(tuned::tune(load_system("dgx-b200")).config);
  REQUIRE_FALSE(config.lines.empty());
  for (const plugin::Line& line : config.lines) CHECK(plugin::channels_after(line, 32) == 32);
  // which the -1 of the plugin's README would not do
  plugin::Line documented = config.lines.front();
  documented.channels = -1;
  CHECK(plugin::channels_after(documented, 32) == 1);
}

TEST_CASE("a line holds for the size nccl-tests prints, which NCCL passes to a tuner", "[tune]") {
  // 2 MiB from each of 8 B200: an all_gather of 16 MiB, where NCCL 2.29 falls to Simple and a line says LL128
  const plugin::Config config = plugin::read(tuned::tune(load_system("dgx-b200")).config);
  const auto line = plugin::match(config, "allgather", 16 * 1048576, 1, 8);
  REQUIRE(line.has_value());
  CHECK(line->protocol == "ll128");
  CHECK_FALSE(plugin::match(config, "allgather", 2 * 1048576, 1, 8).has_value());
}

TEST_CASE("nothing that is unsure is exported, and a file without lines says so", "[tune]") {
  const TuneAnswer report = tuned::tune(load_system("vera-rubin-nvl72"));
  REQUIRE_FALSE(report.ranges.empty());
  for (const SlowChoice& r : report.ranges) REQUIRE_FALSE(r.sure);
  const std::string text = plugin_config(report);
  CHECK(plugin::read(text).lines.empty());
  CHECK(text.find("No loss is sure") != std::string::npos);
}

TEST_CASE("a system's name cannot leave its comment", "[tune]") {
  TuneAnswer report = tuned::tune(load_system("dgx-a100"));
  report.system = "x\nallreduce,0,99999999999,ring,simple,1,-1,-1\n" + std::string(400, 'y');
  const std::string text = plugin_config(report);
  const plugin::Config config = plugin::read(text);
  CHECK(config.faults.empty());
  CHECK_FALSE(plugin::match(config, "allreduce", 512, 1, 8).has_value());
}

TEST_CASE("the variables of the comments name the pair of the line below them", "[tune]") {
  std::istringstream in(tuned::tune(load_system("dgx-b200"), {.nodes = {{1}}}).config);
  std::string before;
  int seen = 0;
  for (std::string row; std::getline(in, row); before = row) {
    if (row.empty() || row.front() == '#') continue;
    ++seen;
    const plugin::Line line = plugin::read(row).lines.at(0);
    INFO(row);
    CHECK(before ==
          "# NCCL_ALGO=" + line.collective + ":" + squeezed(line.algorithm) + " NCCL_PROTO=" + line.collective + ":" + line.protocol);
  }
  CHECK(seen > 0);
}
