#pragma once
/// \file diagnose.hpp
/// Compares a run with what its machine should achieve and names likely causes of a difference. Lines of the
/// log are evidence by themselves; its table is compared with the machine's prediction, whose interval
/// decides what counts as a deviation.

#include <fabricost/compiled_part.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/predict/prediction.hpp>
#include <fabricost/readings/points.hpp>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {
struct System;
}  // namespace fabricost::core

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

/// One likely cause. `confidence` orders them: 0 is a guess, 1 is stated by the log itself.
struct Finding {
  Cause cause = Cause::other;
  double confidence = 0;
  std::string evidence;  ///< lines of the log with their numbers, or the arithmetic
  std::string remedy;
  std::string what = {};  ///< in a few words, where the cause's name says less; may be empty
  std::string rule = {};  ///< of data/diagnosis: FILE.cause.number
};

/// A rule that held, with its weight before the weights of a cause were joined.
struct RuleSeen {
  std::string rule;
  Cause cause = Cause::other;
  double weight = 0;
};

/// A command whose outcome would tell the remaining causes apart.
struct NextQuestion {
  std::string ask, tells;
  double bits = 0;  ///< expected reduction of the entropy of the remaining causes
};

/// A difference between a run and one that went well.
struct Difference {
  std::string what;   ///< "NCCL version", a variable, "bus bandwidth at 1 GiB", "a line only here"
  std::string here;   ///< in this run; empty: not stated
  std::string there;  ///< in the other; empty: not stated
};

/// The verdict on a log. Names are those of `fabricost diagnose --json`.
/// slower_than_predicted: large messages take longer than the interval allows, but not so long that it must be a fault.
enum class RunState : unsigned char { failed, slow, slower_than_predicted, as_predicted, nothing_to_judge };
inline constexpr std::array<std::string_view, 5> run_state_names{"failed", "slow", "slower_than_predicted", "as_predicted",
                                                                 "nothing_to_judge"};
[[nodiscard]] constexpr std::string_view name(RunState s) { return run_state_names[static_cast<std::size_t>(s)]; }

/// One size of the log's table: the median of its repeats and the prediction.
struct ComparedSize {
  Operation operation;  ///< what was timed, with its bytes
  int ranks = 0;
  double measured = 0;   ///< seconds
  double predicted = 0;  ///< seconds; 0: no prediction
  double low = 0, high = 0;
  double bus = 0;  ///< measured bus bandwidth, byte/s
  bool streamed = false;  ///< a rate of many messages in flight
};

/// The request; empty and zero fields were not given.
struct DiagnosisRequest {
  std::string system{};
  int nodes = 0, ranks = 0;
  std::string expected{};  ///< as entered: "900 GB/s", "400 Gb/s", "360 GB/s busbw"
  std::vector<std::string> overrides{};  ///< for `system`, as load_system takes them
  std::string calibration{};             ///< likewise
  std::filesystem::path against{};       ///< a log, or a folder of logs, of a run that went well; empty: none
  PointSource otherwise{};               ///< launch and library of a log that does not say them
};

struct Diagnosis {
  RunState state = RunState::nothing_to_judge;
  bool healthy = true;  ///< the run was seen to end, without evidence of a fault
  std::string verdict;
  std::string normal;  ///< is the number normal: measured, expected, public runs that were slower; empty: nothing was compared
  std::vector<Finding> causes;  ///< likeliest first; only expected_value_wrong if healthy; other if a failure is not understood
  std::vector<RuleSeen> rules;        ///< all that held, in the order of their files
  std::vector<NextQuestion> next;     ///< most telling first
  std::vector<ComparedSize> sizes;
  std::string system;           ///< used for the prediction; empty: no prediction was possible
  bool system_guessed = false;  ///< derived from the log, not from the request
  Basis basis = Basis::datasheet;
  std::vector<Difference> differences{};  ///< from the run of `against`, the most telling first
  std::vector<std::string> notes;  ///< what the log does not state, and what was ignored

  /// Nothing proves a fault, though the run may not have been measured, or be slower than predicted.
  [[nodiscard]] bool fine() const { return state != RunState::failed && state != RunState::slow; }
};

/// Reads a log (nccl-tests tables, NCCL's messages, or both) and reports deviations and their likely causes.
/// \throws SpecError with file, line and remedy when the file is not a log or has no usable content;
/// RequestError for an unknown system, an expectation that is not a rate, ranks or nodes that contradict the
/// log
[[nodiscard]] Diagnosis diagnose(const std::filesystem::path& file, const DiagnosisRequest& request = {});

/// GPUs and ranks in a log that this machine cannot have; empty: they agree, or the log does not state any.
[[nodiscard]] std::string contradiction(const std::filesystem::path& log, const System& system);

/// The usual machine of the GPUs in a log, by its name in data/; the one with a bridge where only its wires allow the
/// times. Empty: ambiguous, or none that is described whole.
/// \throws SpecError as diagnose
[[nodiscard]] std::string usual_system(const std::filesystem::path& log);

/// The same for several logs of one job, one per rank or node: files, packed ones (.gz), folders, "-" for standard input.
[[nodiscard]] Diagnosis diagnose(const std::vector<std::filesystem::path>& files, const DiagnosisRequest& request = {});

/// The same while they are written: returns once a fault is seen in two looks, a second apart, or a run that was measured has ended well.
/// Files may be rotated, folders may get more of them.
[[nodiscard]] Diagnosis diagnose_while_it_runs(const std::vector<std::filesystem::path>& files, const DiagnosisRequest& request = {});

}  // namespace fabricost::observe
