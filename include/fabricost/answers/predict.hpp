#pragma once
/// The time of one operation, and the reasons: run by the communication library or by an engine's own
/// kernels, with lost NICs, with the norm that follows an all-reduce. Exchanges of experts are in
/// answers/moe.hpp.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/choice/choice.hpp>
#include <fabricost/explain/assumptions.hpp>
#include <fabricost/explain/explain.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/fields/terms.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/fused_norm.hpp>
#include <fabricost/predict/predict.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

[[nodiscard]] constexpr auto words_of(Collective) { return EnumWords{collective_names, "an operation"}; }
/// The programs of nccl-tests, too: all_reduce_perf.
[[nodiscard]] inline std::optional<Collective> parse_word(Collective, std::string_view text) {
  constexpr std::string_view program = "_perf";
  if (text.ends_with(program)) text.remove_suffix(program.size());
  return parse_enum<Collective>(text, collective_names);
}
/// An operation; exchanges of experts are refused, as predict and explain alone answer them. \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Collective& out);
[[nodiscard]] constexpr auto words_of(Algorithm) { return EnumWords{algorithm_names, "an algorithm"}; }
[[nodiscard]] inline std::optional<Algorithm> parse_word(Algorithm, std::string_view text) { return parse_algorithm(text); }
[[nodiscard]] constexpr auto words_of(Protocol) { return EnumWords{protocol_names, "a protocol"}; }
[[nodiscard]] inline std::optional<Protocol> parse_word(Protocol, std::string_view text) { return parse_protocol(text); }
[[nodiscard]] constexpr auto words_of(Path) { return EnumWords{path_names, "a path"}; }

/// Parses an inference engine: "vllm", "vllm=0.14.0", followed by ",python" where its collectives are called
/// from Python.
/// \param named the option or argument, for the message \throws RequestError
[[nodiscard]] Inference engine_named(std::string_view text, std::string_view named);
/// engine_named for a field's option. \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Inference& out);

/// Whether NCCL or RCCL is named, or a release of them, not an engine.
[[nodiscard]] constexpr bool is_nccl(const Inference& library) { return library.library == InferenceLibrary::none; }
/// Whether a release of NCCL is named, not of RCCL.
[[nodiscard]] constexpr bool is_release(const Inference& library) { return is_nccl(library) && !library.rccl && library.version > 0; }

/// On or off, as typed.
enum class OnOff : unsigned char { on, off };
inline constexpr std::array<std::string_view, 2> on_off_names{"on", "off"};
[[nodiscard]] constexpr auto words_of(OnOff) { return EnumWords{on_off_names, "on or off"}; }
/// yes and no, too.
[[nodiscard]] inline std::optional<OnOff> parse_word(OnOff, std::string_view text) {
  if (text == "yes" || text == "no") return text == "yes" ? OnOff::on : OnOff::off;
  return parse_enum<OnOff>(text, on_off_names);
}

inline constexpr std::array<std::string_view, 4> put_names{"none", "counter", "local", "signal"};
[[nodiscard]] constexpr auto words_of(Reduction) { return EnumWords{reduction_names, "a way to combine values"}; }
[[nodiscard]] constexpr auto words_of(Put) { return EnumWords{put_names, "an end of a put"}; }

/// Other ways to communicate (choice/ways.hpp).
struct WaysRequest {
  bool symmetric = false;     ///< buffers in symmetric windows (NCCL 2.27 and later): kernels over all peers' memory where they are faster
  bool barrier_free = false;  ///< device-API kernels whose data carry flags, without barriers around them; needs symmetric
  bool copy_engine = false;   ///< copy engines move the bytes, no SM (NCCL 2.28 and later with NCCL_CTA_POLICY_ZERO and symmetric windows)
  int ctas = 0;               ///< thread blocks of the kernels; needs symmetric; default as many as fill the links
  OnOff nvls = OnOff::on;     ///< off: no in-switch reduction (NCCL_NVLS_ENABLE=0); default on, where the switches can
  Reduction redop = Reduction::sum;  ///< reduction: sum (default), prod, max, min, avg; switches can add, and compare values of 16 bits
  Put put = Put::none;               ///< send_recv over NICs as a one-sided message posted by the processor's proxy, until: counter
  bool gin = false;                  ///< send_recv over NICs as a put that the GPU posts itself (GPU-initiated networking, IBGDA)
  bool relay = false;                ///< idle GPUs of a mesh pass messages on (from 8 MiB a link)
  bool registered = false;           ///< registered user buffers (no public data: the time is unchanged, a possible gain is noted)
  std::optional<Bytes> nic_block{};  ///< bytes sent on one NIC before switching to the GPU's next NIC (default: striped evenly)

  static RequestTable<WaysRequest> fields();
};

/// The requested ways. \param pxn messages reach their rail over NVLink \throws Refusal where fields contradict each other
[[nodiscard]] Ways ways_of(const WaysRequest& asked, bool pxn);

namespace field {
template <class R>
inline constexpr auto ask_library = asks(&R::library, "library", "--library", "ENGINE",
                                         "Engine whose all_reduce runs: vllm, sglang, trtllm,\nflashinfer, aiter or torch_symmetric,\n"
                                         "vllm=0.14.0 for a version; or the NCCL release, as\n"
                                         "nccl-2.18: its choices, and its costs inside a domain;\n"
                                         "rccl-2.22: what RCCL of then waits for between nodes");
template <class R>
inline constexpr auto ask_launch = asks(&R::launch, "launch", "--launch", "HOW",
                                        "Launch: graph (the GPUs' time, default); queued (call after\n"
                                        "call); process (one per GPU), threads, one_process (one per\n"
                                        "node): with the host's time; xla (its own module); for\n"
                                        "all_reduce eager (from Python; = <library=vllm,python>)");
template <class R>
inline constexpr auto ask_pxn = asks(&R::pxn, "pxn", "--no-pxn", "", "PXN off: messages do not change GPU to reach their rail");
}  // namespace field

/// 18 of NCCL or RCCL 2.18.
[[nodiscard]] constexpr int release_of(const Inference& library) { return library.version / 1000 % 1000; }

/// Before a machine is loaded: an older release of RCCL runs over the transport that its network's names as `older` (data/transports).
void turn_to_library(Machine& system, std::vector<std::string>& overrides, const std::string& calibration,
                     const std::optional<Inference>& library);
/// The machine as a question's library finds it: with that release of NCCL. \throws Refusal where it runs another library
[[nodiscard]] std::shared_ptr<const System> with_library(std::shared_ptr<const System> system, const std::optional<Inference>& library);

/// The fields of a request that make a Choice.
struct ChoiceRequest {
  Choice::Rule rule = Choice::Rule::nccl;  ///< what decides: nccl or fastest; default nccl
  std::optional<Algorithm> algorithm{};    ///< forced algorithm; default as chosen
  std::optional<Protocol> protocol{};      ///< forced protocol; default as chosen
  std::optional<Inference> library{};      ///< an inference engine, or a release of NCCL
  std::optional<std::string> version{};    ///< release of NCCL; default the newest known
  std::optional<LaunchMode> launch{};      ///< how the host launches; default a graph, the time of the GPUs alone
  Ways ways{};                             ///< other ways to communicate
};
[[nodiscard]] Choice choice_of(const ChoiceRequest& asked);
/// \throws Refusal where NCCL has no kernel that adds this type on these GPUs
void check_type(const System& system, Collective op, DataType dtype);
/// \throws Refusal as check_type, and where calls from Python are asked for and not known of the operation: of RCCL they are, of others of
/// all_reduce alone
void check_call(const System& system, const Choice& choice, Collective op, DataType dtype);
/// Asks for the size; what was given is checked before what is missing. \throws Refusal; SpecError, RequestError as load_system
[[noreturn]] void refuse_without_size(const Machine& system, const std::vector<std::string>& overrides, const std::string& calibration);
/// \throws RequestError for more ranks than a cluster has, as plan, share and serving refuse them (check_size)
void check_ranks(const System& system, const Operation& op);

namespace field {

/// The list "Force one: ring tree ...", broken into lines of at most 54 characters.
struct AlgorithmWords {
  std::array<char, 1024> text{};
  std::size_t size = 0;

  consteval AlgorithmWords() {
    add("Force one:");
    std::size_t line = size;
    for (const std::string_view name : algorithm_names) {
      const bool fits = line + 1 + name.size() <= 54;
      text[size++] = fits ? ' ' : '\n';
      line = (fits ? line + 1 : 0) + name.size();
      add(name);
    }
  }
  consteval void add(std::string_view word) {
    for (const char c : word) text[size++] = c;
  }
};
inline constexpr AlgorithmWords algorithm_words{};

// Tables of fields for requests that have members of these names.
template <class R>
inline constexpr auto ask_operation = asks(&R::operation, "operation", "OP", " ",
                                           "all_reduce all_gather reduce_scatter broadcast reduce\n"
                                           "all_to_all send_recv (case, - and _ do not matter)",
                                           true, true);
template <class R>
inline constexpr auto ask_dtype =
    asks(&R::dtype, "dtype", "--dtype", "TYPE",
         "int8 half bfloat16 fp8 float double; default half; for\nMoE dispatch and combine, the kernel's own type", false, true);
template <class R>
inline constexpr auto ask_algorithm = asks(&R::algorithm, "algorithm", "--algorithm", "A",
                                           std::string_view{algorithm_words.text.data(), algorithm_words.size});
template <class R>
inline constexpr auto ask_protocol = asks(&R::protocol, "protocol", "--protocol", "P", "Force one: ll ll128 simple");
template <class R>
inline constexpr auto ask_tier_override = asks(&R::overrides, "", "--set", "PATH=VALUE",
                                               "Override one value of the system, repeatable:\n"
                                               "<overrides=tiers.nic.bandwidth=\"25 GB/s per direction\">");
template <class R>
inline constexpr auto ask_path = asks(&R::path, "path", "--path", "PATH",
                                      "send_recv: gpu-gpu (default) nic; copies between a\n"
                                      "GPU and its host: gpu-host, to-gpu or from-gpu for\n"
                                      "one direction, both-ways for both at once",
                                      false, true);
template <class R>
inline constexpr auto ask_bytes = asks(&R::bytes, "bytes", "--size", Amount::size, {}, "SIZE",
                                       "Message size as nccl-tests counts it: 256MiB, 1GB;\na plain number is bytes", false, true);

}  // namespace field

/// An operation on the given nodes and ranks, without its size. \param path if given \throws Refusal
[[nodiscard]] Operation operation_of(std::optional<Collective> collective, DataType dtype, std::optional<Path> path, int nodes, int ranks);

struct PredictRequest : WaysRequest {
  Machine system{};                          ///< the machine
  std::optional<Collective> operation{};     ///< all_reduce, all_gather, ..., as in the command
  int nodes = 0, ranks = 0;                  ///< 0: the default of Operation
  DataType dtype = DataType::half;           ///< type of an element; default half
  std::optional<Algorithm> algorithm{};      ///< forced algorithm; default as chosen
  std::optional<Protocol> protocol{};        ///< forced protocol; default as chosen
  Choice::Rule choice = Choice::Rule::nccl;  ///< nccl (default) or fastest
  std::string calibration{};                 ///< none, or a calibration file; default the shipped one
  std::vector<std::string> overrides{};      ///< values of the machine, as in tiers.nic.endpoints=4
  std::optional<Path> path{};                ///< of send_recv: gpu-gpu (default), nic, gpu-host
  std::optional<Bytes> bytes{};              ///< size of the message
  std::optional<Inference> library{};        ///< an inference engine, or a release of NCCL
  std::optional<std::string> version{};      ///< of the engine, where `library` says none
  std::optional<LaunchMode> launch{};        ///< how the host launches; default a graph, the time of the GPUs alone
  bool fused_norm = false;                   ///< all_reduce: add residual and normalisation, as a kernel of its own and fused
  int lost_rails = 0;                  ///< NICs of one node that are down; the others carry their channels, and all nodes wait for that one
  bool pxn = true;                     ///< whether messages change GPU to reach their rail
  std::optional<Inference> upgrade{};  ///< the NCCL to compare with

  static RequestTable<PredictRequest> fields();
};

/// An all-reduce with the operation that follows it.
struct FusedNormAnswer {
  std::string algorithm{};
  Time all_reduce{}, apart{}, fused{}, saved{};
  FusedNorm made{};  ///< input of explain()

  static AnswerTable<FusedNormAnswer> fields();
};

/// A prediction with the release in `upgrade`.
struct UpgradeAnswer {
  std::string library{}, algorithm{}, protocol{};
  Time time{}, saved{}, low{}, high{};

  static AnswerTable<UpgradeAnswer> fields();
};

/// A prediction with the details an answer adds.
struct PredictAnswer : Prediction {
  std::string system{};  ///< its name
  std::string trouble{};  ///< of a sweep over counts: why this one has no answer, whose times are then no numbers; empty: it has
  std::vector<std::string> assumed{};
  std::optional<FusedNormAnswer> norm{};
  std::optional<UpgradeAnswer> upgrade{};
  std::shared_ptr<const System> machine{};  ///< input of faster_than_chosen

  [[nodiscard]] std::string_view collective() const { return name(operation.collective); }
  [[nodiscard]] std::string_view dtype() const { return name(operation.dtype); }
  [[nodiscard]] Bytes bytes() const { return operation.bytes; }
  [[nodiscard]] std::string_view binding_tier() const { return bottleneck().tier.view(); }
  [[nodiscard]] std::vector<std::string> beyond() const { return names_of(extrapolated); }
  [[nodiscard]] std::pair<Time, Time> interval() const { return {Time::from_value(low), Time::from_value(high)}; }

  static AnswerTable<PredictAnswer> fields();
};

/// Adds the details of an answer to a prediction.
[[nodiscard]] PredictAnswer answer_of(const System& system, const Prediction& prediction);

/// "tiers.nic.lost=1": the override of a machine whose nodes each lost so many NICs. \param field of the number, for the message
/// \throws Refusal without NICs, or where none is left
[[nodiscard]] std::string override_of_lost_rails(const System& whole, int lost, std::string_view field);

/// The choice of algorithm and protocol in a request. \throws Refusal where fields contradict each other
[[nodiscard]] Choice choice_of(const PredictRequest& request);

/// \throws Refusal, RequestError as predict; SpecError, RequestError as load_system
[[nodiscard]] PredictAnswer answer(const PredictRequest& request);

/// The fastest of the pairs that NCCL's tuner chooses among, where `chosen` takes 5 % longer or more; empty where nothing does, where no
/// tuner chooses, where a pair was forced, and without the machine.
[[nodiscard]] std::optional<Prediction> faster_than_chosen(const PredictAnswer& chosen);

/// The same request, explained as text.
struct ExplainRequest : PredictRequest {};

/// The predicted time after a change.
struct ChangeAnswer {
  std::string change{};
  Time time{};

  static AnswerTable<ChangeAnswer> fields();
};

struct ExplainAnswer : PredictAnswer {
  std::string text{};  ///< the explanation
  Time naive{};
  std::vector<ChangeAnswer> changes{};

  static AnswerTable<ExplainAnswer> fields();
};

/// \throws as answer(PredictRequest)
[[nodiscard]] ExplainAnswer answer(const ExplainRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::ExplainAnswer;
using core::ExplainRequest;
using core::PredictAnswer;
using core::PredictRequest;
}  // namespace fabricost
