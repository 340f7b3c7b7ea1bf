// predict, explain, sweep, crossovers and share asked in C++: what the model says, by name and by value, and rules that name fields.
#include <fabricost/answers/machine.hpp>
#include <fabricost/answers/sweep.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/observe/answers/topo.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/answers/share.hpp>
#include <fabricost/plan/answers/tune.hpp>
#include <fabricost/plan/evaluation/calibrate.hpp>
#include <fabricost/plan/evaluation/validate.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"

#include "catch.hpp"

#include <filesystem>
#include <memory>

using namespace fabricost::plan;
using namespace fabricost::observe;
using support::message_of;

namespace {

template <class Request>
std::string refusal_of(const Request& request) {
  return support::message_of([&] { return answer(request); });
}

const PredictRequest all_reduce{.system = {"dgx-h100"}, .operation = Collective::all_reduce, .bytes = units::KiB(64)};

}  // namespace

TEST_CASE("overrides and calibration beside a System in memory are refused, not ignored", "[answers]") {
  PredictRequest request;
  request.system = load_system("dgx-h100");
  request.operation = Collective::all_reduce;
  request.bytes = units::MiB(1);
  CHECK(refusal_of(request).empty());
  request.overrides = {"nic.bandwidth=1 GB/s per direction"};
  CHECK(refusal_of(request).find("dgx-h100 is a System") != std::string::npos);
  request.overrides.clear();
  request.calibration = "none";
  CHECK(refusal_of(request).find("load_system") != std::string::npos);
  request.system = "dgx-h100";
  CHECK(refusal_of(request).empty());
}

TEST_CASE("what joins the chips of a pod is said, and ranks that are no slice or block of a torus beside the next that are", "[answers]") {
  const auto assumed = [](const char* system, int ranks) {
    return answer(PredictRequest{.system = {system}, .operation = Collective::all_reduce, .ranks = ranks, .bytes = units::GiB(8)}).assumed;
  };
  CHECK(assumed("tpu-v5p-cube", 64).empty());
  CHECK(assumed("tpu-v5p-cube", 128) ==
        std::vector<std::string>{"tpu-v5p-cube describes 16 nodes; 32 of them lie in a slice of 128 chips (4 x 4 x 8) that the pod's own links join"});
  REQUIRE(assumed("tpu-v5p-cube", 12288).size() == 1);
  CHECK(assumed("tpu-v5p-cube", 12288).front().find("2 slices of 6144 chips") != std::string::npos);
  REQUIRE(assumed("tpu-v5p-cube", 100).size() == 2);
  CHECK(assumed("tpu-v5p-cube", 100).back().starts_with("100 ranks are no slice of the pod"));
  CHECK(assumed("tpu-v5p-cube", 100).back().find("the next slice is 128 (42.7 ms)") != std::string::npos);
  CHECK(assumed("trn2-ultraserver", 32).empty());
  REQUIRE(assumed("trn2-ultraserver", 48).size() == 1);
  CHECK(assumed("trn2-ultraserver", 48).front().find("the next block is 64 (") != std::string::npos);
}

TEST_CASE("parts of a torus that are blocks of it run the algorithm of all axes", "[answers]") {
  for (const int ranks : {8, 32, 64})
    CHECK(predict(load_system("trn2-ultraserver"), AllReduce{.bytes = units::GiB(8), .ranks = ranks}).algorithm == "torus_bucket");
  CHECK(predict(load_system("trn2-ultraserver"), AllReduce{.bytes = units::GiB(8), .ranks = 48}).algorithm == "ring");
}

TEST_CASE("an algorithm that NCCL lacks, or runs under another name, is said and never called measured", "[answers]") {
  const auto asked = [](Collective op, std::optional<Algorithm> algorithm, Choice::Rule rule = Choice::Rule::nccl) {
    return answer(PredictRequest{.system = {"superpod-h100"}, .operation = op, .nodes = 4, .algorithm = algorithm, .choice = rule, .bytes = units::KiB(64)});
  };
  const auto says = [](const PredictAnswer& a, std::string_view words) {
    return std::count_if(a.assumed.begin(), a.assumed.end(), [&](const std::string& one) { return one.find(words) != std::string::npos; }) == 1;
  };
  CHECK(asked(Collective::all_reduce, {}).assumed.empty());
  CHECK(asked(Collective::all_reduce, Algorithm::tree).assumed.empty());
  CHECK(says(asked(Collective::all_reduce, Algorithm::nvls), "NCCL runs nvls_tree where nvls is asked for"));
  const PredictAnswer tree = asked(Collective::broadcast, Algorithm::tree), fastest = asked(Collective::all_reduce, {}, Choice::Rule::fastest);
  CHECK(says(tree, "NCCL has trees for all_reduce alone"));
  CHECK(says(fastest, "NCCL has no " + std::string{fastest.algorithm.view()}));
  for (const PredictAnswer& one : {tree, fastest}) CHECK(one.basis == Basis::datasheet);
}

TEST_CASE("operations are known by the names of nccl-tests' programs, too", "[answers]") {
  for (const auto& [program, op] : {std::pair{"all_reduce_perf", Collective::all_reduce}, {"allreduce_perf", Collective::all_reduce},
                                    {"alltoall_perf", Collective::all_to_all}, {"sendrecv_perf", Collective::send_recv},
                                    {"reduce_perf", Collective::reduce}})
    CHECK(worded<Collective>(program) == op);
  CHECK_FALSE(worded<Collective>("gather_perf"));
  CHECK_FALSE(worded<Collective>("_perf"));
  CHECK(worded<Balancing>("ecmp") == Balancing::hashed);
}

TEST_CASE("A machine that is there loses rails as one by name does", "[answers]") {
  for (const char* name : {"dgx-h100", "aws-p5", "gb200-nvl72", "azure-nd-h100-v5", "frontier", "mi300x-8"}) {
    PredictRequest by_name{.system = {name}, .operation = Collective::all_reduce, .nodes = 36, .bytes = units::MB(256), .lost_rails = 1};
    PredictRequest by_value = by_name;
    by_value.system = load_system(name);
    CAPTURE(name);
    CHECK(answer(by_name).seconds == answer(by_value).seconds);
    CHECK(answer(by_name).low == answer(by_value).low);
    PredictRequest nameless = by_value;
    nameless.system.name.clear();
    CHECK(answer(by_name).seconds == answer(nameless).seconds);
    CHECK(answer(by_name).low == answer(nameless).low);
    by_name.lost_rails = 0;
    CHECK(answer(by_value).seconds >= answer(by_name).seconds);
  }
}

TEST_CASE("Where rings outrun kernels over windows, the library's other pairs are compared with them", "[answers]") {
  for (const double mib : {1.0, 64.0, 256.0}) {
    PredictRequest request{.system = {"gb300-nvl72"}, .operation = Collective::all_reduce, .ranks = 4, .bytes = units::MiB(mib)};
    request.symmetric = true;
    CHECK_NOTHROW(faster_than_chosen(answer(request)));
  }
}

TEST_CASE("A sweep has a prediction for each size or each count", "[answers]") {
  SweepRequest sizes;
  sizes.system = {"dgx-h100"};
  sizes.operation = Collective::all_reduce;
  sizes.sizes = {units::KiB(1), units::KiB(64)};
  const SweepAnswer many = answer(sizes);
  REQUIRE(many.rows.size() == 2);
  CHECK(many.rows[1].seconds == Approx(answer(all_reduce).seconds));
  SweepRequest counts = sizes;
  counts.sizes.reset();
  counts.bytes = units::KiB(64);
  counts.nodes.values = {1, 2, 4};
  CHECK(answer(counts).rows[2].nodes == 4);
  CHECK(answer(counts).by_count);
  counts.ranks.values = {8, 16};
  CHECK(refusal_of(counts) == "nodes and ranks are both lists; sweep over one of them");
  counts.ranks.values = {9};
  counts.nodes.values = {1, 2};
  CHECK(refusal_of(counts).starts_with("1 node: "));
  sizes.sizes.reset();
  CHECK(refusal_of(sizes).starts_with("which sizes? Add sizes"));
}

TEST_CASE("of a sweep a count that cannot run says why in its row, and the others keep their answers", "[answers]") {
  SweepRequest counts;
  counts.system = {"dgx-h100"};
  counts.operation = Collective::all_reduce;
  counts.bytes = units::MiB(1);
  counts.ranks.values = {8, 13, 16};
  const SweepAnswer found = answer(counts);
  REQUIRE(found.rows.size() == 3);
  CHECK((found.rows[0].trouble.empty() && found.rows[2].trouble.empty() && found.rows[2].seconds > found.rows[0].seconds));
  const PredictAnswer& none = found.rows[1];
  CHECK((none.trouble.starts_with("13 ranks do not spread") && none.ranks == 13 && none.nodes == 2 && std::isnan(none.seconds)));
  CrossoversRequest changes{counts};
  const CrossoversAnswer changed = answer(changes);
  CHECK((changed.rows[1].trouble == none.trouble && changed.rows[1].runs.empty() && !changed.rows[2].runs.empty()));
  counts.ranks.values = {13, 15};
  CHECK(refusal_of(counts).starts_with("13 ranks: 13 ranks do not spread"));
}

TEST_CASE("a release of NCCL that does not know the GPUs is refused, with the first that does") {
  PredictRequest r = all_reduce;
  r.system = {"gb300-nvl72"};
  r.library = engine_named("nccl-2.24", "library");
  CHECK(refusal_of(r) == "library = nccl-2.24: NCCL runs on blackwell GPUs from 2.25 on");
  r.library = engine_named("nccl-2.25", "library");
  CHECK(refusal_of(r).empty());
  r.system = {"dgx-h100"};
  r.library = engine_named("nccl-2.14", "library");
  CHECK_FALSE(refusal_of(r).empty());
  r.system = {"dgx-a100"};
  CHECK(refusal_of(r).empty());
}

TEST_CASE("a launch that adds nothing, between domains or with a library of which none was measured, says so") {
  PredictRequest r = all_reduce;
  r.launch = LaunchMode::one_process;
  CHECK(answer(r).assumed.empty());  // inside a node its time is known
  r.nodes = 2;
  r.system = {"superpod-h100"};
  CHECK(answer(r).assumed.empty());  // between nodes as well
  r.launch = LaunchMode::process;
  REQUIRE(answer(r).assumed.size() == 1);
  CHECK(answer(r).assumed[0].starts_with("launch process adds nothing here"));
  r.launch = LaunchMode::one_process;
  r.nodes = 0;
  r.system = {"mi300x-8"};
  CHECK(answer(r).assumed.empty());
  r.system = {"b60-pcie"};
  REQUIRE_FALSE(answer(r).assumed.empty());
  CHECK(answer(r).assumed[0].starts_with("launch one_process adds nothing here"));
  r.launch = LaunchMode::xla;
  r.system = {"tpu-v5p-cube"};
  CHECK(answer(r).assumed.back().starts_with("launch xla adds nothing here"));
}

TEST_CASE("an older release of RCCL runs over the transport that its network names, a newer one over its own", "[answers]") {
  const auto seconds = [](const char* library, const std::vector<std::string>& overrides = {}) {
    PredictRequest r;
    r.operation = Collective::all_reduce;
    r.bytes = units::KiB(64);
    r.nodes = 2;
    r.system = {"mi300x-8"};
    r.overrides = overrides;
    if (*library != '\0') r.library = engine_named(library, "library");
    return answer(r).seconds;
  };
  CHECK(seconds("rccl-2.22") == seconds("", {"nic.transport=rccl-roce-rocm6"}));
  CHECK(seconds("rccl-2.22.3") == seconds("rccl-2.22"));
  CHECK(seconds("rccl-2.27") == seconds(""));
  CHECK(seconds("rccl") == seconds(""));
  PredictRequest r = all_reduce;  // of a machine of NVIDIA's
  r.library = engine_named("rccl-2.22", "library");
  CHECK_THROWS_AS(answer(r), RequestError);
  CHECK_THROWS_AS(engine_named("rccl-fast", "library"), RequestError);
}

TEST_CASE("a machine whose domains are single GPUs answers for its nodes", "[answers]") {
  PredictRequest r = all_reduce;
  r.system = {"dgx-spark-pair"};
  CHECK(answer(r).ranks == 2);
}

TEST_CASE("a put posted by the GPU is refused on a cloud's own network cards and says elsewhere on what it rests") {
  PredictRequest r{.system = {"superpod-h100"}, .operation = Collective::send_recv, .bytes = units::KiB(64)};
  r.path = Path::nic;
  r.gin = true;
  REQUIRE(answer(r).assumed.size() == 1);
  CHECK(answer(r).assumed[0].find("GB200") != std::string::npos);
  r.system = {"aws-p5"};
  CHECK(refusal_of(r).find("not to those of efa") != std::string::npos);
}

TEST_CASE("NCCL adds fp8 from Hopper on, and moves it everywhere") {
  PredictRequest sum = all_reduce;
  sum.dtype = DataType::fp8;
  CHECK(refusal_of(sum).empty());
  for (const char* older : {"dgx-a100", "l40s-pcie"}) {
    sum.system = {older};
    for (const Collective op : {Collective::all_reduce, Collective::reduce_scatter}) {
      sum.operation = op;
      CHECK(refusal_of(sum).find("Hopper and later") != std::string::npos);
    }
    sum.operation = Collective::all_gather;
    CHECK(refusal_of(sum).empty());
  }
  // RCCL's types are its own
  sum.system = {"mi300x-8"};
  sum.operation = Collective::all_reduce;
  CHECK(refusal_of(sum).empty());
}

TEST_CASE("Crossovers are where predict changes what runs, whatever decides it", "[answers]") {
  struct Way {
    const char* system;
    void (*put)(CallOnCounts& all, PredictRequest& one);
  };
  for (const Way& way :
       {Way{"dgx-h100", [](CallOnCounts&c, PredictRequest&p) { c.nvls = p.nvls = OnOff::off; }},
        Way{"dgx-h100", [](CallOnCounts&c, PredictRequest&p) { c.library = p.library = Inference{.library = InferenceLibrary::vllm}; }},
        Way{"dgx-b200", [](CallOnCounts&c, PredictRequest&p) { c.symmetric = p.symmetric = true; }},
        Way{"dgx-a100", [](CallOnCounts&c, PredictRequest&p) { c.launch = p.launch = LaunchMode::queued; }}}) {
    CrossoversRequest all;
    PredictRequest one;
    all.system = one.system = {way.system};
    all.operation = one.operation = Collective::all_reduce;
    way.put(all, one);
    const CrossoversAtCount found = answer(all).rows.front();
    for (const auto& [changes, rule] : {std::pair{&found.runs, Choice::Rule::nccl}, {&found.fastest, Choice::Rule::fastest}})
      for (std::size_t i = 0; i < changes->size(); ++i) {
        one.choice = rule;
        one.bytes = (*changes)[i].from;
        const PredictAnswer from = answer(one);
        CAPTURE(way.system, i, one.bytes->value());
        CHECK(std::pair{from.algorithm.view(), from.protocol.view()} ==
              std::pair<std::string_view, std::string_view>{(*changes)[i].algorithm, (*changes)[i].protocol});
        if (i == 0) continue;
        one.bytes = units::B(one.bytes->value() - 1);
        const PredictAnswer before = answer(one);
        CHECK(std::pair{before.algorithm.view(), before.protocol.view()} ==
              std::pair<std::string_view, std::string_view>{(*changes)[i - 1].algorithm, (*changes)[i - 1].protocol});
      }
  }
  CrossoversRequest none;
  none.system = {"dgx-h100"};
  none.operation = Collective::reduce_scatter;
  none.library = Inference{.library = InferenceLibrary::vllm};
  CHECK_THROWS_AS(answer(none), Refusal);
}

TEST_CASE("of the fastest pairs a sweep lists none that is a near tie over a short range", "[answers]") {
  for (const auto& [system, op, ranks] : {std::tuple{"gb200-nvl72", Collective::broadcast, 4},
                                          {"gb200-nvl72", Collective::broadcast, 8},
                                          {"dgx-h100", Collective::all_reduce, 16},
                                          {"dgx-b200", Collective::all_gather, 8}}) {
    CrossoversRequest all;
    all.system = {system};
    all.operation = op;
    all.ranks.values = {ranks};
    const std::vector<CrossoverAnswer> fastest = answer(all).rows.front().fastest;
    const System machine = load_system(system);
    const auto seconds = [&](const CrossoverAnswer& pair, double bytes) {
      const Choice forced{.algorithm = parse_algorithm(pair.algorithm), .protocol = parse_protocol(pair.protocol)};
      return predict(machine, Operation{.collective = op, .bytes = units::B(bytes), .ranks = ranks}, forced).seconds;
    };
    for (std::size_t i = 1; i < fastest.size(); ++i) {
      const double from = fastest[i].from.value(), until = i + 1 < fastest.size() ? fastest[i + 1].from.value() : 1e12;
      double most = 0;
      for (int step = 0; step <= 64; ++step) {
        const double bytes = std::floor(from * std::pow(until / from, step / 64.0));
        most = std::max(most, seconds(fastest[i - 1], bytes) / seconds(fastest[i], bytes));
      }
      CAPTURE(system, ranks, from, fastest[i].algorithm);
      CHECK(most > (until < 2 * from ? 1.049 : 1.0099));
    }
  }
}

TEST_CASE("sends of a few bytes over Slingshot say that they are slow, others do not", "[answers]") {
  const auto told = [](const char* system, Collective op, double bytes) {
    const PredictAnswer found = answer(PredictRequest{.system = {system}, .operation = op, .nodes = 8, .bytes = units::B(bytes)});
    return std::any_of(found.assumed.begin(), found.assumed.end(),
                       [](const std::string& one) { return one.find("B to each peer") != std::string::npos; });
  };
  CHECK(told("alps-gh200", Collective::all_to_all, 4096));  // 128 B for each of 32
  CHECK_FALSE(told("alps-gh200", Collective::all_to_all, 8192));
  CHECK_FALSE(told("alps-gh200", Collective::all_reduce, 4096));
  CHECK_FALSE(told("superpod-h100", Collective::all_to_all, 4096));
}

TEST_CASE("Copies to the GPU, from it and both ways at once are told apart, and both ways share", "[answers]") {
  const auto copy = [](const char* system, Path path, double bytes) {
    return answer(PredictRequest{.system = {system}, .operation = Collective::send_recv, .path = path, .bytes = units::B(bytes)});
  };
  for (const char* system : {"dgx-h100", "dgx-h200", "alps-gh200", "gb300-nvl72", "l40s-pcie", "dgx-a100"})
    for (const double bytes : {4096.0, 1e6, 1e9}) {
      CAPTURE(system, bytes);
      const double to = copy(system, Path::to_gpu, bytes).seconds, from = copy(system, Path::from_gpu, bytes).seconds;
      const double either = copy(system, Path::gpu_host, bytes).seconds, both = copy(system, Path::both_ways, bytes).seconds;
      CHECK(either == Approx(0.5 * (to + from)));
      CHECK(both >= std::max(to, from) * 0.999);
      CHECK(both <= 2 * (to + from));
    }
  const auto rate = [&](const char* system, Path path) { return 1e9 / copy(system, path, 1e9).seconds; };
  CHECK(rate("alps-gh200", Path::to_gpu) == Approx(420e9).epsilon(0.01));
  CHECK(rate("alps-gh200", Path::from_gpu) == Approx(170e9).epsilon(0.01));
  // fabricost measure on an H100: 55.2 and 55.2 GB/s, 46.3 each way at once; 2.56 and 1.86 us for few bytes
  CHECK(rate("dgx-h100", Path::to_gpu) == Approx(55.2e9).epsilon(0.01));
  CHECK(rate("dgx-h100", Path::from_gpu) == Approx(55.2e9).epsilon(0.01));
  CHECK(rate("dgx-h100", Path::both_ways) == Approx(46.3e9).epsilon(0.05));
  CHECK(copy("dgx-h100", Path::to_gpu, 16).seconds == Approx(2.56e-6).epsilon(0.05));
  CHECK(copy("dgx-h100", Path::from_gpu, 16).seconds == Approx(1.86e-6).epsilon(0.05));
  // the interval of a copy does not end at the point
  const PredictAnswer p = copy("dgx-h100", Path::to_gpu, 1e9);
  CHECK(p.low < p.seconds);
  CHECK(p.basis == Basis::sibling);
}

// Questions asked from C++ as the command and Python ask them: machines, machines read from files, logs.

TEST_CASE("a rule names fields, and its message has their own names") {
  CHECK(message_of([] { (void)answer(TuneRequest{}); }) == "which machine? Add system = NAME; fabricost machine lists the names");
  CHECK(message_of([] { (void)answer(DiagnoseRequest{}); }).starts_with("which log?"));
  CHECK(message_of([] { (void)answer(TopoRequest{}); }).starts_with("which file?"));
}

TEST_CASE("what a field holds by default need not lie in its range, anything else must") {
  CHECK_NOTHROW(check_ranges(TuneRequest{}));  // ranks = 0: all of the nodes
  TuneRequest negative;
  negative.ranks = -1;
  CHECK_THROWS_AS(check_ranges(negative), Refusal);
}

// Questions about measurements, machines and models asked from C++ as the command and Python ask them.

namespace {

const std::filesystem::path sources = FABRICOST_SOURCE_DIR;
const std::string measured_log = sources / "data" / "measurements" / "dgx-h100-all-reduce.txt";
const std::string kernels = sources / "tests" / "robustness" / "fuzz" / "corpus" / "workload" / "ops.csv";

[[nodiscard]] ValidateFilesRequest of_log() {
  ValidateFilesRequest out;
  out.samples = {{measured_log, {}}};
  out.system.name = "dgx-h100";
  return out;
}

}  // namespace

TEST_CASE("what is missing is asked for in the names of fields") {
  CHECK(message_of([] { (void)answer(ShowRequest{}); }).starts_with("which machine?"));
  CHECK(message_of([] { (void)answer(ValidateRequest{}); }).starts_with("which measurements?"));
  CHECK(message_of([] { (void)answer(CalibrateRequest{}); }).starts_with("from which measurements?"));
  ModelsRequest all;
  all.sequence = 8192;
  CHECK(message_of([&] { (void)answer(all); }) == "sequence is for one model: add model");
}

TEST_CASE("a machine is a name or a value, and prices the same points alike") {
  const auto named = std::get<ValidationAnswer>(answer(of_log()));
  ValidateFilesRequest given = of_log();
  given.system = load_system("dgx-h100");
  const auto valued = std::get<ValidationAnswer>(answer(given));
  REQUIRE(named.points > 10);
  CHECK(static_cast<const Errors&>(named) == static_cast<const Errors&>(valued));
  CHECK(named.worst_error() >= named.median_error());
  CHECK(named.by_system().front().first == "dgx-h100");
}

TEST_CASE("a launch and a release of NCCL that no file says are taken from the request, and those that it says are kept") {
  Point p;
  p.system = SharedText{"dgx-a100"};
  p.gpus_per_node = 8;
  p.bytes = 1048576;
  p.seconds = 75e-6;
  const auto predicted = [](const Point& point, std::optional<LaunchMode> launch, std::optional<Inference> library) {
    ValidateRequest r;
    r.samples = {{"", {point}}};
    r.launch = launch;
    r.library = library;
    return answer(r).report.points.at(0).prediction;
  };
  const Inference old = engine_named("nccl-2.12", "library"), now = engine_named("nccl-2.30", "library");
  CHECK(predicted(p, {}, old).seconds > 1.5 * predicted(p, {}, now).seconds);
  CHECK(name(predicted(p, {}, old).made_from.fabric.tuner) == "nccl-2.12");
  CHECK(predicted(p, LaunchMode::one_process, now).seconds > predicted(p, {}, now).seconds);
  p.library_version = SharedText{"2.30.3"};
  p.launch = {.mode = LaunchMode::threads, .gpus = 8};
  CHECK(predicted(p, LaunchMode::xla, old).seconds == predicted(p, {}, {}).seconds);
  p.library = SharedText{"rccl"};
  p.library_version = SharedText{};
  CHECK(predicted(p, {}, old).seconds == predicted(p, {}, now).seconds);
  const std::string refusal = message_of([&] { (void)predicted(p, {}, Inference{.library = InferenceLibrary::vllm}); });
  CHECK(refusal.find("a release of NCCL") != std::string::npos);
}

TEST_CASE("points in memory take what they do not say from the request") {
  const Points read_once = read(of_log().samples, {.system = "dgx-h100"}, false);
  ValidateRequest request;
  request.samples = {{"", read_once.points}};
  for (Point& p : request.samples.front().points) p.system = SharedText{};
  request.system.name = "dgx-h100";
  const auto from_file = std::get<ValidationAnswer>(answer(of_log()));
  CHECK(answer(request).total() == from_file.total());
}

TEST_CASE("the files' columns say which question is asked, and what it has no use for is refused") {
  ValidateFilesRequest tables;
  tables.samples = {{kernels, {}}};
  CHECK(std::holds_alternative<WorkloadsAnswer>(answer(tables)));
  tables.choice = Choice::Rule::nccl;
  CHECK(message_of([&] { (void)answer(tables); }) == "choice has no meaning for tables of workloads; leave it out");
  CalibrateFilesRequest fit;
  fit.samples = {{kernels, {}}};
  fit.system.name = "dgx-h100";
  CHECK(message_of([&] { (void)answer(fit); }) ==
        "system is for points of collectives; leave it out of tables of kernels");
}
