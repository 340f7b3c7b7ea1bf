/// Predicts and explains one operation.

#include <fabricost/answers/moe.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/choice/releases.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/predict/complete.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/lost_nics.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/text/quantity.hpp>

#include "text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::core {

RequestTable<WaysRequest> WaysRequest::fields() {
  using R = WaysRequest;
  using enum Amount;
  return {asks(&R::symmetric, "symmetric", "--symmetric", "",
               "Buffers in symmetric windows (NCCL 2.27 and later):\nkernels over all peers' memory where they are faster;\n"
               "all_reduce, all_gather, reduce_scatter, all_to_all inside\none NVLink domain"),
          asks(&R::barrier_free, "barrier_free", "--barrier-free", "",
               "Device-API kernels whose data carry flags, without barriers\naround them; needs <symmetric>"),
          asks(&R::ctas, "ctas", "--ctas", count, {1, 1024}, "N",
               "Thread blocks of the kernels; needs <symmetric>; default as\nmany as fill the links"),
          asks(&R::copy_engine, "copy_engine", "--copy-engine", "",
               "Copy engines move the bytes, no SM (NCCL 2.28 and later\nwith NCCL_CTA_POLICY_ZERO and symmetric windows):\n"
               "all_gather and all_to_all inside one NVLink domain"),
          asks(&R::nvls, "nvls", "--nvls", "HOW", "off: no in-switch reduction (NCCL_NVLS_ENABLE=0);\ndefault on, where the switches can"),
          asks(&R::redop, "redop", "--redop", "OP",
               "Reduction: sum (default), prod, max, min, avg; switches\ncan add, and compare values of 16 bits"),
          asks(&R::put, "put", "--put", "END",
               "send_recv over NICs as a one-sided message posted by the\nprocessor's proxy, until: counter (the other GPU sees it),\n"
               "local (it has left), signal (a second message)"),
          asks(&R::gin, "gin", "--gin", "", "send_recv over NICs as a put that the GPU posts itself\n(GPU-initiated networking, IBGDA)"),
          asks(&R::relay, "relay", "--relay", "", "Idle GPUs of a mesh pass messages on (from 8 MiB a link)"),
          asks(&R::registered, "registered", "--registered", "",
               "Registered user buffers (no public data: the time is\nunchanged, a possible gain is noted)"),
          asks(&R::nic_block, "nic_block", "--nic-block", size, {1, 1e18}, "SIZE",
               "Bytes sent on one NIC before switching to the GPU's next NIC\n(default: striped evenly)")};
}

RequestTable<PredictRequest> PredictRequest::fields() {
  using R = PredictRequest;
  using enum Amount;
  return {asks(&R::operation, "operation", "OP", " ",
               "all_reduce all_gather reduce_scatter broadcast reduce\n"
               "all_to_all send_recv moe_dispatch moe_combine\n"
               "(case, - and _ do not matter)",
               true, true),
          field::ask_system<R>,
          asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Nodes, as nccl-tests counts them", false, true),
          asks(&R::ranks, "ranks", "--ranks", count, any_count, "R", "GPUs; default all of the nodes", false, true),
          field::ask_dtype<R>,
          field::ask_algorithm<R>,
          field::ask_protocol<R>,
          field::ask_choice<R>,
          field::ask_calibration<R>,
          field::ask_tier_override<R>,
          field::ask_path<R>,
          field::ask_bytes<R>,
          field::ask_library<R>,
          asks(&R::version, "version", "", "", "Version of the engine, as in 0.14.0; default the newest known"),
          field::ask_launch<R>,
          asks(&R::fused_norm, "fused_norm", "--fused-norm", "",
               "all_reduce: add residual and normalisation, as a kernel of\nits own and fused"),
          asks(&R::lost_rails, "lost_rails", "--lost-rails", count, {0, 10'000'000}, "N",
               "NICs of one node that are down; the others carry their\nchannels, and all nodes wait for that one"),
          field::ask_pxn<R>,
          asks(&R::upgrade, "upgrade", "--upgrade", "NCCL", "Also predict with this NCCL, as nccl-2.30: what an\nupgrade changes"),
          WaysRequest::fields()};
}

AnswerTable<FusedNormAnswer> FusedNormAnswer::fields() {
  using A = FusedNormAnswer;
  constexpr JsonUnit us = in_microseconds;
  return {gives(&A::algorithm, "", "algorithm", "What runs the all-reduce, as in `one_shot`."),
          gives(&A::all_reduce, "", "all_reduce_seconds", "The all-reduce alone, s."),
          gives(&A::apart, "apart_us", "apart_seconds", "Two kernels: all-reduce + 1.8 us between them + 4 S / M, s.", us),
          gives(&A::fused, "fused_us", "fused_seconds", "One kernel: all-reduce + 3 S / M, s; where NCCL runs nothing fuses.", us),
          gives(&A::saved, "saved_us", "saved_seconds", "apart_seconds - fused_seconds, s.", us)};
}

AnswerTable<UpgradeAnswer> UpgradeAnswer::fields() {
  using A = UpgradeAnswer;
  constexpr JsonUnit us = in_microseconds;
  return {gives(&A::library, "library", "library", "Whose tables stand for that release, as in `nccl-2.30`."),
          gives(&A::algorithm, "algorithm", "algorithm", "What it runs."),
          gives(&A::protocol, "protocol", "protocol", "Under which protocol."),
          gives(&A::time, "time_us", "seconds", "Its time, s.", us),
          gives(&A::saved, "saved_us", "saved_seconds", "What it saves; negative: it costs, s.", us),
          gives(&A::low, "low_us", "low_seconds", "Lower end of its interval, s.", us),
          gives(&A::high, "high_us", "high_seconds", "Upper end of its interval, s.", us)};
}

AnswerTable<PredictAnswer> PredictAnswer::fields() {
  using A = PredictAnswer;
  constexpr JsonUnit us = in_microseconds;
  constexpr bool left_out = true;
  return {
      gives(&A::collective, "operation", "", "Its name."),
      field::give_system<A>,
      gives(&A::nodes, "nodes", "nodes", "Nodes they sit on."),
      field::give_ranks_of_run<A>,
      gives(&A::dtype, "dtype", "", "Element type."),
      gives(&A::bytes, "bytes", "", "Size as nccl-tests counts it, byte."),
      field::give_seconds_of_terms<&A::seconds>,
      gives_trouble(&A::trouble, "Of a sweep: why this count has no answer.", ""),
      gives(&A::algorithm_bandwidth, "algbw_GBps", "algorithm_bytes_per_second", "algbw = bytes / seconds, byte/s.", 1e9),
      gives(&A::bus_bandwidth, "busbw_GBps", "bus_bytes_per_second",
            "busbw, byte/s: algbw x 2(n-1)/n for all_reduce, x (n-1)/n for all_gather, reduce_scatter and all_to_all, x 1 for the rest.",
            1e9),
      gives(&A::algorithm, "algorithm", "algorithm", "What ran, as in `ring`, `tree`, `nvls`."),
      gives(&A::protocol, "protocol", "protocol", "What it ran under: ll, ll128 or simple."),
      field::give_binding_tier<A>,
      gives(&A::basis, "basis", "basis",
            "What the constants rest on: calibrated (runs on this machine), sibling (on one like it) or datasheet."),
      gives(&A::beyond, "extrapolated", "extrapolated", "Which of sizes, ranks, nodes lie outside what was measured."),
      field::give_assumed<A>,
      gives(&A::interval, "interval_us", "interval_seconds",
            "(low, high), s: nine in ten measurements fall between; high = seconds x w, low = seconds / w, but no less than the "
            "bytes take over the links at their full rate.",
            us),
      gives(&A::low, "", "low_seconds", "Lower end of the interval, s."),
      gives(&A::high, "", "high_seconds", "Upper end of the interval, s."),
      field::give_terms<A>,
      gives(&A::norm, "norm", "norm", "With residual and norm, a FusedNorm; None: it was not asked for.", {}, left_out),
      gives(&A::upgrade, "upgrade", "upgrade", "With another NCCL, an Upgrade; None: it was not asked for.", {}, left_out)};
}

AnswerTable<ChangeAnswer> ChangeAnswer::fields() {
  using A = ChangeAnswer;
  return {gives(&A::change, "change", "change", "As in `10 % more nvlink bandwidth`."),
          gives(&A::time, "time_us", "seconds", "Time after it, s.", in_microseconds)};
}

AnswerTable<ExplainAnswer> ExplainAnswer::fields() {
  using A = ExplainAnswer;
  return {PredictAnswer::fields(),
          gives(&A::naive, "naive_us", "naive_seconds", "What bytes over the datasheet's rate say, s.", in_microseconds),
          gives(&A::changes, "changes", "changes", "What would change it.")};
}

Inference engine_named(std::string_view text, std::string_view named) {
  constexpr std::string_view python = ",python";
  Inference out{.from_host = text.ends_with(python)};
  if (out.from_host) text.remove_suffix(python.size());
  constexpr std::string_view nccl = "nccl";
  if (text == nccl && !out.from_host) {  // what runs where nothing is said
    out.version = version_number(name(newest_tuner).substr(nccl.size() + 1));
    return out;
  }
  if (text.starts_with(nccl) && text.size() > nccl.size() && (text[nccl.size()] == '-' || text[nccl.size()] == '=') && !out.from_host) {
    const std::string_view given = text.substr(nccl.size() + 1);
    out.version = version_number(given);
    const bool of_series = out.version / 1000000 == 2;
    if (!of_series || release_of(out) > prior::ways::known_until)
      throw RequestError(fmt::format("{}: \"{}\" is {}; known are nccl-2.0 to nccl-2.{:.0f}, and nccl for {}, the newest that was measured",
                                     named, given, of_series ? "a release of NCCL that nothing is known of" : "no version of NCCL",
                                     prior::ways::known_until, name(newest_tuner)));
    return out;
  }
  constexpr std::string_view rccl = "rccl";
  if (text == rccl || (text.starts_with(rccl) && (text[rccl.size()] == '-' || text[rccl.size()] == '='))) {
    out.rccl = true;
    if (text != rccl) out.version = version_number(text.substr(rccl.size() + 1));
    if (out.from_host || (text != rccl && out.version / 1000000 != 2))
      throw RequestError(fmt::format("{}: \"{}\" is no version of RCCL; write it as in rccl-2.22", named, text));
    return out;
  }
  const auto equals = text.find('=');
  const std::string_view engine = text.substr(0, equals);
  const auto library = parse_inference_library(engine);
  if (!library) {
    std::vector<std::string> known(inference_library_names.begin() + 1, inference_library_names.end());
    known.emplace_back("nccl");
    throw RequestError(fmt::format("{}: {}", named, unknown_text(engine, "an inference engine or NCCL", known)));
  }
  out.library = *library;
  if (equals == std::string_view::npos) return out;
  out.version = version_number(text.substr(equals + 1));
  if (out.version == 0)
    throw RequestError(fmt::format("{}: \"{}\" is no version; write it as in {}=0.14.0", named, text.substr(equals + 1), name(*library)));
  return out;
}

/// A send_recv runs between two GPUs of a domain, between a GPU and its host, or between two nodes. Without a
/// path on several nodes every GPU sends to the next, as in nccl-tests.
Operation operation_of(std::optional<Collective> collective, DataType dtype, std::optional<Path> path, int nodes, int ranks) {
  if (!collective) throw Refusal(fmt::format("which operation? One of: {}", joined(collective_names)), true);
  Operation out{.collective = *collective, .ranks = ranks, .nodes = nodes, .dtype = dtype, .path = path.value_or(Path::gpu_gpu)};
  if (!path) return out;
  if (*collective != Collective::send_recv)
    throw Refusal(fmt::format("<path> is for send_recv; {} takes the paths its algorithm needs", name(*collective)));
  if (*path == Path::nic) {
    if (nodes == 1) throw Refusal("<path=nic> leaves the node; leave <nodes> out or take at least 2");
    if (nodes == 0) out.nodes = 2;
  } else if (nodes > 1) {
    throw Refusal(fmt::format("<path={}> stays inside a node; use <path=nic> for {} nodes", name(*path), nodes));
  }
  return out;
}

namespace {
[[nodiscard]] std::optional<std::string> override_of_library(const System& system, const std::optional<Inference>& library) {
  const Tier* const nic = system.tier(TierRole::nic);
  if (!library || !library->rccl || nic == nullptr || system.library != Library::rccl) return std::nullopt;
  if (library->version == 0 || library->version / 1000 > nic->transport.older_until) return std::nullopt;
  return fmt::format("tiers.{}.transport={}", nic->name.view(), nic->transport.older.view());
}
}  // namespace

void turn_to_library(Machine& system, std::vector<std::string>& overrides, const std::string& calibration,
                     const std::optional<Inference>& library) {
  if (!library || !library->rccl || system.name.empty()) return;
  auto older = override_of_library(*system.get(overrides, KernelSets::none(), calibration), library);
  if (!older) return;
  overrides.push_back(*std::move(older));
  system.value = nullptr;  // read again
}

std::shared_ptr<const System> with_library(std::shared_ptr<const System> system, const std::optional<Inference>& library) {
  if (!library || !is_nccl(*library)) return system;
  if (library->rccl) {
    if (system->library != Library::rccl)
      throw Refusal(fmt::format("<library=rccl>: {} runs {}", system->name, library_names[static_cast<std::size_t>(system->library)]));
    if (const auto older = override_of_library(*system, library))
      throw Refusal(fmt::format("<library=rccl-2.{}>: between nodes it runs another transport; write <overrides={}>",
                                release_of(*library), *older));
    return system;
  }
  if (system->library != Library::nccl)
    throw Refusal(fmt::format("<library=nccl>: {} runs {}", system->name, library_names[static_cast<std::size_t>(system->library)]));
  if (!is_release(*library)) return system;
  System out = *system;
  out.tuner = tuner_of_version(library->version / 1000000, release_of(*library));
  out.nccl_release = release_of(*library);
  if (const double from = later_first_release(out.library, out.tuner, out.nccl_release, out.gpu.generation); from > 0)
    throw Refusal(fmt::format("<library=nccl-2.{}>: NCCL runs on {} GPUs from 2.{:.0f} on", release_of(*library),
                              name(system->gpu.generation), from));
  return std::make_shared<const System>(std::move(out));
}

Ways ways_of(const WaysRequest& asked, bool pxn) {
  if (!asked.symmetric && (asked.barrier_free || asked.ctas > 0))
    throw Refusal("<barrier_free> and <ctas> are of kernels over symmetric windows: add <symmetric>");
  if (asked.gin && asked.put == Put::none && asked.nic_block) throw Refusal("<nic_block> is known for rings, not for <gin>");
  return {.nic_block = numbers_in(asked.nic_block).value_or(0),
          .ctas = static_cast<unsigned short>(asked.ctas),
          .put = asked.put,
          .redop = asked.redop,
          .symmetric = asked.symmetric,
          .barrier_free = asked.barrier_free,
          .copy_engine = asked.copy_engine,
          .nvls = asked.nvls == OnOff::on,
          .pxn = pxn,
          .gin = asked.gin,
          .relay = asked.relay,
          .registered = asked.registered};
}

Choice choice_of(const PredictRequest& r) {
  if (r.fused_norm && (r.launch == LaunchMode::eager || (r.library && r.library->from_host)))
    throw Refusal("<fused_norm> is known inside a CUDA graph; leave <launch=eager> out");
  if (r.upgrade && !is_release(*r.upgrade)) throw Refusal("<upgrade> compares releases of NCCL: write it as in <upgrade=nccl-2.30>");
  return choice_of({r.choice, r.algorithm, r.protocol, r.library, r.version, r.launch, ways_of(r, r.pxn)});
}

Choice choice_of(const ChoiceRequest& r) {
  Choice out{
      .rule = r.rule, .algorithm = r.algorithm, .protocol = r.protocol, .inference = r.library.value_or(Inference{}), .ways = r.ways};
  if (r.library && is_release(*r.library)) {
    if (r.ways.symmetric && release_of(*r.library) < prior::ways::symmetric_from)
      throw Refusal(fmt::format("<symmetric>: NCCL has symmetric windows from 2.{:.0f} on, not 2.{}", prior::ways::symmetric_from,
                                release_of(*r.library)));
    if (r.ways.copy_engine && release_of(*r.library) < prior::ways::copy_engine_from)
      throw Refusal(fmt::format("<copy_engine>: NCCL's copy engines move collectives from 2.{:.0f} on, not in 2.{}",
                                prior::ways::copy_engine_from, release_of(*r.library)));
    if (const double from = r.algorithm ? nccl_from(*r.algorithm) : 0; release_of(*r.library) < from)
      throw Refusal(
          fmt::format("<algorithm={}>: NCCL has it from 2.{:.0f} on, not in 2.{}; take <library=nccl-2.{:.0f}>, or leave "
                      "<algorithm> out",
                      name(*r.algorithm), from, release_of(*r.library), from));
    out.ways.any_buffer = release_of(*r.library) >= prior::ways::any_buffer_from;
  }
  if (r.version) {
    if (!r.library || is_nccl(*r.library)) throw Refusal("<version> is that of an engine: add <library>");
    out.inference.version = version_number(*r.version);
    if (out.inference.version == 0) throw Refusal(fmt::format("<version>: \"{}\" is no version; write it as in \"0.14.0\"", *r.version));
  }
  if (r.launch && *r.launch != LaunchMode::eager && out.inference.from_host)
    throw Refusal(fmt::format("<launch={}> and <library={},python> contradict each other; leave one out", name(*r.launch),
                              name(out.inference.library)));
  if (r.launch == LaunchMode::eager) out.inference.from_host = true;
  if (r.launch) out.launch.mode = *r.launch;
  return out;
}

void check_type(const System& system, Collective op, DataType dtype) {
  // NVIDIA/nccl, src/enqueue.cc: "FP8 reduction support begins with sm90 capable devices."
  const Generation generation = system.gpu.generation;
  const bool adds_fp8 = system.library != Library::nccl || !is_nvidia(generation) || generation >= Generation::hopper;
  if (dtype == DataType::fp8 && reduces(op) && !adds_fp8)
    throw Refusal(
        fmt::format("{}: NCCL adds fp8 on Hopper and later, not on {}; take <dtype=half>, or int8 for a reduction of the same "
                    "bytes",
                    system.name, name(generation)));
}

void refuse_without_size(const Machine& system, const std::vector<std::string>& overrides, const std::string& calibration) {
  (void)system.get(overrides, KernelSets::none(), calibration);
  throw Refusal("how much? Add <bytes>, as in <bytes=268435456>", true);
}

void check_ranks(const System& system, const Operation& op) {
  check_size(system, std::max(static_cast<double>(op.ranks), static_cast<double>(op.nodes) * system.gpus_per_node));
}

void check_call(const System& system, const Choice& choice, Collective op, DataType dtype) {
  check_type(system, op, dtype);
  if (system.library == Library::other && (choice.inference.from_host || choice.inference.library != InferenceLibrary::none))
    throw Refusal(fmt::format("<{}>: {} has a communication library of its own, and none of the engines' kernels",
                              choice.inference.library == InferenceLibrary::none ? "launch=eager" : "library", system.name));
  if (choice.inference.library != InferenceLibrary::none && !has_kernels_with(choice.inference.library, system.library))
    throw Refusal(fmt::format("<library={0}>: no kernels of {0} are known on {1} GPUs; leave it out for the time of {2}",
                              name(choice.inference.library), name(system.gpu.generation),
                              library_names[static_cast<std::size_t>(system.library)]));
  if (choice.inference.from_host && !is_rccl_call(system, choice) && op != Collective::all_reduce)
    throw Refusal(fmt::format("<launch=eager> is known for all_reduce alone, not for {}", name(op)));
  if (const InferenceLibrary library = choice.inference.library; library != InferenceLibrary::none && op != Collective::all_reduce)
    throw Refusal(fmt::format("<library={0}>: the kernels of {0} are of all_reduce; leave it out for {1}, which runs as without {0}",
                              name(library), name(op)));
}

std::string override_of_lost_rails(const System& whole, int lost, std::string_view field) {
  const Tier* const nic = whole.tier(TierRole::nic);
  if (nic == nullptr) throw Refusal(fmt::format("<{}>: {} has no NICs", field, whole.name));
  if (lost >= nic->endpoints)
    throw Refusal(fmt::format("<{}>: {} of {} NICs of a {}; at least one has to be left", field, lost, nic->endpoints, whole.name));
  return fmt::format("tiers.{}.lost={}", nic->name.view(), nic->lost + lost);
}

namespace {

/// The machine with some NICs of one node lost. All ranks wait for that node, so all are priced like it.
[[nodiscard]] std::shared_ptr<const System> without_rails(const PredictRequest& r, KernelSets kernels) {
  const auto whole = r.system.get(r.overrides, KernelSets::none(), r.calibration);
  const std::string without = override_of_lost_rails(*whole, r.lost_rails, "lost_rails");
  std::shared_ptr<const System> left = whole;
  if (!r.system.name.empty()) {
    std::vector<std::string> overrides = r.overrides;
    overrides.push_back(without);
    Machine named = r.system;
    named.value = nullptr;  // read again
    left = named.get(overrides, kernels, r.calibration);
  }
  System out = *left;
  Tier& nic = *std::find_if(out.tiers.begin(), out.tiers.end(), [](const Tier& t) { return t.role == TierRole::nic; });
  if (left == whole) {
    nic.endpoints -= r.lost_rails;
    nic.lost += r.lost_rails;
  }
  // not the measured machine any more, as with an override
  if (out.constants.transport_basis == Basis::calibrated) out.constants.transport_basis = Basis::sibling;
  return std::make_shared<const System>(std::move(out));
}

/// The cost of lost NICs in words; empty where none is lost. Factors as in predict/lost_nics.hpp.
[[nodiscard]] std::string lost_note(const System& system, const Prediction& p) {
  const Tier* const nic = system.tier(TierRole::nic);
  if (nic == nullptr || nic->lost == 0) return "";
  const double whole = fabricost::core::devices_of(*nic, system.gpus_per_node), gpus = system.gpus_per_node;
  const double per_device = tables_of(system.tuner).network_channels[tuner_generation(system.gpu.generation)];
  const NicsLeft left = nics_left(whole, nic->endpoints, gpus, per_device);
  const bool one = nic->lost == 1;
  std::string out = fmt::format("{} NIC{} of every node {} down: all wait for the node that lost {}.", nic->lost, one ? "" : "s",
                                one ? "is" : "are", one ? "it" : "them");
  if (left.carrying < nic->endpoints)
    out += fmt::format(" The NICs of a GPU are one device: the one with the fewest left holds all to its pace, {:.3g} times as long.",
                       whole / left.carrying);
  else if (p.operation.collective == Collective::send_recv)
    out += fmt::format(" A single message has one of the {} left to itself.", nic->endpoints);
  else if (exchanges_at_once(p.ran.algorithm, p.operation.collective))
    out += fmt::format(
        " Messages keep to the NIC next to their GPU, and those of a lost one move: the fullest of the {} left carries "
        "{:.3g} times as much.",
        nic->endpoints, whole / (left.carrying * left.exchanges));
  else
    out += fmt::format(
        " NCCL, started again, divides its channels evenly over the {} left: each carries {:.3g} times as much. A NIC "
        "that is slow but up keeps its channels and holds all to its own rate.",
        nic->endpoints, whole / left.carrying);
  return out;
}

/// A request with its machine loaded.
struct LoadedRequest {
  std::shared_ptr<const System> system;
  Operation operation;
  Choice choice;
};
[[nodiscard]] LoadedRequest loaded(PredictRequest r) {
  LoadedRequest out{.system = nullptr, .operation = operation_of(r.operation, r.dtype, r.path, r.nodes, r.ranks), .choice = choice_of(r)};
  need_machine(r.system);
  if (!r.bytes) refuse_without_size(r.system, r.overrides, r.calibration);
  out.operation.bytes = *r.bytes;
  check_ranges(r);
  turn_to_library(r.system, r.overrides, r.calibration, r.library);
  // the cost of a call from Python is stored beside the engines' kernels
  const bool engine = r.library && !is_nccl(*r.library);
  const KernelSets kernels{.compute = r.fused_norm, .custom = engine || out.choice.inference.from_host || r.symmetric, .moe = false};
  out.system = r.lost_rails > 0 ? without_rails(r, kernels) : r.system.get(r.overrides, kernels, r.calibration);
  out.system = with_library(out.system, r.library);
  check_call(*out.system, out.choice, *r.operation, r.dtype);
  check_ranks(*out.system, out.operation);
  return out;
}

[[nodiscard]] FusedNormAnswer normed(const System& system, const Prediction& p) {
  const FusedNorm both = fused_norm(system, p);
  return {.algorithm = std::string{p.algorithm.view()},
          .all_reduce = p.time(),
          .apart = units::s(both.apart),
          .fused = units::s(both.fused),
          .saved = units::s(both.saved()),
          .made = both};
}

[[nodiscard]] PredictAnswer answered(const LoadedRequest& a, const PredictRequest& r) {
  PredictAnswer out = answer_of(*a.system, predict(*a.system, a.operation, a.choice));
  if (r.lost_rails > 0 && (out.made_from.fabric.domains() <= 1 || is_host_copy(a.operation)))
    throw Refusal(fmt::format(
        "<lost_rails>: nothing crosses the NICs here: {}; take <nodes> of more than one scale-up domain, or leave it out",
        is_host_copy(a.operation) ? "a copy between a GPU and its host" : fmt::format("{} ranks of one scale-up domain", out.ranks)));
  out.machine = a.system;
  if (r.fused_norm) out.norm = normed(*a.system, out);
  return out;
}

}  // namespace

PredictAnswer answer_of(const System& system, const Prediction& prediction) {
  return {prediction, system.name, {}, assumptions(system, prediction), {}, {}, {}};
}

namespace {

/// The request predicted with the release in `upgrade`: its tables, costs inside a domain and defaults.
[[nodiscard]] UpgradeAnswer upgraded(const LoadedRequest& a, const PredictRequest& r, Time now) {
  PredictRequest with = r;
  with.library = r.upgrade;
  with.version = {};
  const auto system = with_library(a.system, r.upgrade);
  const Prediction p = predict(*system, a.operation, choice_of(with));
  const bool any_buffer = p.ran.kernel == CollectiveKernel::any_buffer || p.ran.kernel == CollectiveKernel::any_buffer_two_shot;
  const std::string release = fmt::format("nccl-{}.{}", r.upgrade->version / 1000000, release_of(*r.upgrade));
  const std::string tables = release == name(system->tuner) ? "" : fmt::format(" (tables of {})", name(system->tuner));
  return {.library = release + tables + (any_buffer ? ", kernel for any buffer" : ""),
          .algorithm = std::string{p.algorithm.view()},
          .protocol = std::string{p.protocol.view()},
          .time = p.time(),
          .saved = now - p.time(),
          .low = units::s(p.low),
          .high = units::s(p.high)};
}

}  // namespace

PredictAnswer answer(const PredictRequest& request) {
  const LoadedRequest a = loaded(request);
  PredictAnswer out = answered(a, request);
  if (request.upgrade) out.upgrade = upgraded(a, request, out.time());
  return out;
}

std::optional<Prediction> faster_than_chosen(const PredictAnswer& chosen) {
  constexpr double worth_saying = 0.95;
  const Choice& choice = chosen.made_from.choice;
  const bool by_tuner = chosen.machine && choice.rule == Choice::Rule::nccl && follows_tuner(chosen.machine->library) &&
                        chosen.ran.kernel == CollectiveKernel::library;
  if (!by_tuner || choice.algorithm || choice.protocol || !chosen.moves() || is_host_copy(chosen.operation)) return std::nullopt;
  std::optional<Prediction> best;
  const ChoiceInput in{chosen.operation.collective, is_byte_wide(chosen.operation.dtype)};
  for (const TunerRow& row : allowed_rows(choice, in, chosen.made_from.fabric).rows) {
    Choice forced = choice;
    forced.algorithm = row.candidate.algorithm;
    forced.protocol = row.candidate.protocol;
    forced.ways.symmetric = false;  // a pair of the library's own, not a kernel over windows
    const Prediction p = predict(*chosen.machine, chosen.operation, forced);
    if (p.seconds < worth_saying * chosen.seconds && (!best || p.seconds < best->seconds)) best = p;
  }
  return best;
}

ExplainAnswer answer(const ExplainRequest& request) {
  const LoadedRequest a = loaded(request);
  const System& system = *a.system;
  ExplainAnswer out{answered(a, request), {}, naive_time(system, a.operation), {}};
  std::vector<std::string> notes;
  if (std::string lost = lost_note(system, out); !lost.empty()) notes.push_back(std::move(lost));
  if (request.upgrade) {
    out.upgrade = upgraded(a, request, out.time());
    notes.push_back(fmt::format("With {}: {} {}, {} ({} to {}).", out.upgrade->library, out.upgrade->algorithm, out.upgrade->protocol,
                                time_text(out.upgrade->time), time_text(out.upgrade->low), time_text(out.upgrade->high)));
  }
  out.text = explain(system, out, notes) + (out.norm ? "\n" + explain(out.norm->made) : "");
  for (const Sensitivity& s : sensitivities(system, a.operation, a.choice)) out.changes.push_back({s.change, units::s(s.seconds)});
  return out;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> out{collective_names.begin(), collective_names.end()};
  out.insert(out.end(), moe_operation_names.begin() + 1, moe_operation_names.end());  // prepare, the first, belongs to one kernel only
  return out;
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Collective& out) {
  const auto found = worded<Collective>(text);
  if (const auto phase = worded<MoePhase>(text))
    throw RequestError(fmt::format("{} is answered by fabricost predict and fabricost explain alone",
                                   moe_operation_names[static_cast<std::size_t>(*phase)]));
  if (!found)
    throw RequestError((option.starts_with("-") ? std::string{option} + ": " : "") +
                       (text.ends_with("_perf") ? fmt::format("\"{}\" of nccl-tests has no price here; one of: {}", text, joined(operation_names()))
                                                : unknown_text(text, "an operation", operation_names())));
  out = *found;
}

}  // namespace fabricost::core
