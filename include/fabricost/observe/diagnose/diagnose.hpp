#pragma once
/// \file diagnose.hpp
/// Compares a run with what its machine should achieve and names likely causes of a difference. Lines of the
/// log are evidence by themselves; its table is compared with the machine's prediction, whose interval
/// decides what counts as a deviation.

#include <fabricost/answers/validate.hpp>
#include <fabricost/compiled_part.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/predict/prediction.hpp>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {

/// Why a run fails, is slow, or only appears to be. Names are those of `fabricost diagnose --json`.
enum class Cause : unsigned char {
  acs_enabled,
  algorithm_choice,
  bug_in_version,
  container_vm_topology,
  cpu_launch_bound,
  debug_env,
  expected_value_wrong,
  few_channels,
  gdr_off,
  half_rate_link,
  iommu,
  ll128_off,
  nic_wrong_numa,
  no_p2p_shm,
  nvlink_not_used,
  nvls_off,
  oversubscription,
  pcie_downgraded,
  rail_missing,
  roce_untuned,
  small_message,
  stragglers,
  tcp_fallback,
  other,
  fabric_manager,
  imex,
  gpu_fault,
  gpu_memory,
  host_memory,
  locked_memory,
  bootstrap_network,
  link_failed,
  collective_mismatch,
  rank_lost,
  version_mismatch,
  launch_mistake,
  program_error,
  plugin_missing,
  driver_mismatch,
  wrong_machine
};
inline constexpr std::array<std::string_view, 40> cause_names{"acs_enabled",
                                                              "algorithm_choice",
                                                              "bug_in_version",
                                                              "container_vm_topology",
                                                              "cpu_launch_bound",
                                                              "debug_env",
                                                              "expected_value_wrong",
                                                              "few_channels",
                                                              "gdr_off",
                                                              "half_rate_link",
                                                              "iommu",
                                                              "ll128_off",
                                                              "nic_wrong_numa",
                                                              "no_p2p_shm",
                                                              "nvlink_not_used",
                                                              "nvls_off",
                                                              "oversubscription",
                                                              "pcie_downgraded",
                                                              "rail_missing",
                                                              "roce_untuned",
                                                              "small_message",
                                                              "stragglers",
                                                              "tcp_fallback",
                                                              "other",
                                                              "fabric_manager",
                                                              "imex",
                                                              "gpu_fault",
                                                              "gpu_memory",
                                                              "host_memory",
                                                              "locked_memory",
                                                              "bootstrap_network",
                                                              "link_failed",
                                                              "collective_mismatch",
                                                              "rank_lost",
                                                              "version_mismatch",
                                                              "launch_mistake",
                                                              "program_error",
                                                              "plugin_missing",
                                                              "driver_mismatch",
                                                              "wrong_machine"};
[[nodiscard]] constexpr std::string_view name(Cause c) { return cause_names[static_cast<std::size_t>(c)]; }

/// One likely cause, as data/diagnosis and the log give it.
struct Finding {
  Cause cause = Cause::other;
  double confidence = 0;
  std::string evidence, remedy;
  std::string what{}, rule{};
  bool operator==(const Finding&) const = default;

  [[nodiscard]] std::string page() const { return "docs/causes.md#" + std::string{name(cause)}; }
  static constexpr auto fields() {
    using A = Finding;
    return Table{gives(&A::cause, "cause", "cause", "Its name, as in `gdr_off`; those of `fabricost diagnose --json`."),
                 gives(&A::confidence, "confidence", "confidence", "0 a guess, 1 the log says so itself."),
                 gives(&A::evidence, "evidence", "evidence", "Lines of the log with their numbers, or the arithmetic."),
                 gives(&A::remedy, "remedy", "remedy", "What to try."),
                 gives(&A::what, "what", "what", "In a few words, where the name says less; may be empty.", {}, true),
                 gives(&A::rule, "rule", "rule", "The strongest rule of data/diagnosis behind it.", {}, true),
                 gives(&A::page, "page", "page", "Where the documentation says what it is, how to be sure and what helps.", {}, true)};
  }
};

/// A rule of data/diagnosis that held, with its weight before the weights of a cause were joined.
struct RuleSeen {
  std::string rule;
  Cause cause = Cause::other;
  double weight = 0;
  bool operator==(const RuleSeen&) const = default;

  static constexpr auto fields() {
    using A = RuleSeen;
    return Table{gives(&A::rule, "rule", "rule", "FILE.cause.number in data/diagnosis."),
                 gives(&A::cause, "cause", "cause", "The cause it applies to."),
                 gives(&A::weight, "weight", "weight", "How often it is right, 0 to 1.")};
  }
};

/// A command whose outcome would tell the remaining causes apart.
struct NextQuestion {
  std::string ask, tells;
  double bits = 0;
  bool operator==(const NextQuestion&) const = default;

  static constexpr auto fields() {
    using A = NextQuestion;
    return Table{gives(&A::ask, "ask", "ask", "The command."), gives(&A::tells, "tells", "tells", "What its outcome means."),
                 gives(&A::bits, "bits", "bits", "What it is expected to settle of the doubt, in bits.")};
  }
};

/// A difference between a run and one that went well.
struct Difference {
  std::string what, here, there;
  bool operator==(const Difference&) const = default;

  static constexpr auto fields() {
    using A = Difference;
    return Table{gives(&A::what, "what", "what", "What differs: a variable, a version, a bandwidth, a line."),
                 gives(&A::here, "here", "here", "In this run; empty: not stated."),
                 gives(&A::there, "there", "there", "In the run that went well; empty: not stated.")};
  }
};

/// The verdict on a log. Names are those of `fabricost diagnose --json`.
/// slower_than_predicted: large messages take longer than the interval allows, but not so long that it must be a fault.
enum class RunState : unsigned char { failed, slow, slower_than_predicted, as_predicted, nothing_to_judge };
inline constexpr std::array<std::string_view, 5> run_state_names{"failed", "slow", "slower_than_predicted", "as_predicted",
                                                                 "nothing_to_judge"};
[[nodiscard]] constexpr std::string_view name(RunState s) { return run_state_names[static_cast<std::size_t>(s)]; }

/// One size of the log's table: the median of its repeats, beside its prediction.
struct DiagnosedSize {
  Collective collective = Collective::all_reduce;
  Bytes bytes{};
  int ranks = 0, nodes = 0;
  Time measured{}, predicted{}, low{}, high{};
  Bandwidth bus_bandwidth{};
  DataType dtype = DataType::single;
  bool streamed = false;  ///< a rate of many messages in flight
  Basis basis = Basis::datasheet;  ///< of the prediction
  bool operator==(const DiagnosedSize&) const = default;

  [[nodiscard]] double ratio() const { return measured / predicted; }
  [[nodiscard]] Operation operation() const {
    return {.collective = collective, .bytes = bytes, .ranks = ranks, .nodes = nodes, .dtype = dtype};
  }
  static constexpr auto fields() {
    using A = DiagnosedSize;
    return Table{
        gives(&A::collective, "operation", "operation", "Its name, as in `all_reduce`."),
        gives(&A::bytes, "bytes", "bytes", "Size, byte."),
        field::give_ranks<A>,
        field::give_nodes<A>,
        gives(&A::measured, "measured_us", "measured_seconds", "Median of the log's times, s.", in_microseconds),
        gives(&A::predicted, "predicted_us", "predicted_seconds", "Prediction, s.", in_microseconds),
        gives(&A::low, "interval_us[]", "low_seconds", "Least of nine in ten measurements, s.", in_microseconds),
        gives(&A::high, "interval_us[]", "high_seconds", "Most of nine in ten measurements, s.", in_microseconds),
        gives(&A::bus_bandwidth, "busbw_GBps", "bus_bytes_per_second", "Measured bus bandwidth, byte/s.", in_gigabytes_per_second),
        gives(&A::ratio, "ratio", "", "Measured over predicted.")};
  }
};

/// Whether a run failed or is slow, and why. Names are those of `fabricost diagnose --json`.
struct Diagnosis {
  RunState state = RunState::nothing_to_judge;
  bool healthy = true;
  std::string verdict;
  std::string normal{};
  std::vector<Finding> causes{};  ///< only expected_value_wrong if healthy; other if a failure is not understood
  std::vector<RuleSeen> rules{};  ///< in the order of their files
  std::vector<NextQuestion> next{};
  std::vector<DiagnosedSize> sizes{};
  std::string system{};
  bool system_guessed = false;
  Basis basis = Basis::datasheet;
  std::vector<Difference> differences{};  ///< the most telling first
  std::vector<std::string> notes{};

  /// Nothing proves a fault, though the run may not have been measured, or be slower than predicted.
  [[nodiscard]] bool fine() const { return state != RunState::failed && state != RunState::slow; }
  [[nodiscard]] std::optional<std::string> compared_with() const {
    return system.empty() ? std::nullopt : std::optional<std::string>{system};
  }
  static constexpr auto fields() {
    using A = Diagnosis;
    return Table{gives(&A::state, "state", "state", "failed, slow, slower_than_predicted, as_predicted or nothing_to_judge."),
                 gives(&A::healthy, "healthy", "healthy", "True: the run was seen to end, and nothing speaks against it."),
                 gives(&A::causes, "causes", "causes", "List of Finding, likeliest first."),
                 gives(&A::next, "next", "next", "List of NextQuestion, most telling first."),
                 gives(&A::rules, "rules", "rules", "List of RuleSeen: all rules that held."),
                 gives(&A::verdict, "verdict", "verdict", "One sentence."),
                 gives(&A::normal, "normal", "normal",
                       "Is the number normal: measured, expected, how many public runs on such machines are slower; empty: nothing was "
                       "compared."),
                 gives(&A::system, "", "system", "Name of the machine it was compared with; empty: with none."),
                 gives(&A::compared_with, "system", "", "Name of the machine it was compared with."),
                 gives(&A::system_guessed, "system_guessed", "system_guessed", "True: told from the log, not by the caller."),
                 gives(&A::basis, "", "basis", "What the prediction rests on: calibrated, sibling or datasheet."),
                 gives(&A::sizes, "sizes", "", "Each size of the log."),
                 gives(&A::differences, "differences", "differences", "List of Difference, from the run of `against`.", {}, true),
                 gives(&A::notes, "notes", "notes", "What the log did not say, what was set aside.")};
  }
};

struct DiagnoseRequest {
  std::filesystem::path log;
  Machine system;
  int nodes = 0, ranks = 0;
  std::string expected;
  std::vector<std::string> more{};  ///< further logs of the same job
  std::string against{};            ///< a log, or a folder of logs, of a run that went well
  bool follow = false;              ///< the logs are still written
  std::optional<LaunchMode> launch{};
  std::optional<Inference> library{};

  static constexpr auto fields() {
    using R = DiagnoseRequest;
    using enum Amount;
    return Table{asks(&R::log, "log", "LOG", " ", "A log, packed or not, a dump, a folder of them, - for standard input", true),
                 asks(&R::system, "system", "--system,-s", "NAME", "The machine; default: the one named in the log"),
                 asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Number of nodes, if the log does not say"),
                 asks(&R::ranks, "ranks", "--ranks,-r", count, any_count, "R", "Number of ranks in all, if the log does not say"),
                 asks(&R::expected, "expected", "--expected,-e", "RATE", "Bandwidth you expected, with its unit"),
                 asks(&R::more, "more", "MORE", " ", "Further logs of the same job, as of its other ranks or nodes"),
                 asks(&R::against, "against", "--against", "LOG", "Log, or folder of logs, of a good run to compare with"),
                 asks(&R::follow, "follow", "--follow", "", "The logs are still written: read on until a verdict stands"),
                 field::ask_launch_of_files<R>, field::ask_library_of_files<R>};
  }
};

/// Reads logs (nccl-tests tables, NCCL's messages, or both), dumps or traces of one job, one per rank or node: files, packed ones (.gz),
/// folders, "-" for standard input. With `follow`, returns once a fault is seen in two looks, a second apart, or a run that was measured has
/// ended well; files may be rotated, folders may get more of them.
/// \throws Refusal without a log; SpecError with file, line and remedy when a file is not a log or has no usable content; RequestError for
/// an unknown system, an expectation that is not a rate, ranks or nodes that contradict the log
[[nodiscard]] Diagnosis answer(const DiagnoseRequest& request);

}  // namespace fabricost::observe
