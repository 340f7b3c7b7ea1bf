#pragma once
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
  wrong_machine,
  sharp_off
};
inline constexpr std::array<std::string_view, 41> cause_names{"acs_enabled",
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
                                                              "wrong_machine",
                                                              "sharp_off"};
[[nodiscard]] constexpr std::string_view name(Cause c) { return cause_names[static_cast<std::size_t>(c)]; }

/// One likely cause, as data/diagnosis and the log give it.
struct Finding {
  Cause cause = Cause::other;
  double confidence = 0;
  std::string evidence, remedy, what{}, rule{};
  bool operator==(const Finding&) const = default;

  [[nodiscard]] std::string page() const { return "docs/causes.md#" + std::string{name(cause)}; }
  static AnswerTable<Finding> fields();
};

/// A rule of data/diagnosis that held, with its weight before the weights of a cause were joined.
struct RuleSeen {
  std::string rule;
  Cause cause = Cause::other;
  double weight = 0;
  bool operator==(const RuleSeen&) const = default;

  static AnswerTable<RuleSeen> fields();
};

/// A command whose outcome would tell the remaining causes apart.
struct NextQuestion {
  std::string ask, tells;
  double bits = 0;
  bool operator==(const NextQuestion&) const = default;

  static AnswerTable<NextQuestion> fields();
};

/// A difference between a run and one that went well.
struct Difference {
  std::string what, here, there;
  bool operator==(const Difference&) const = default;

  static AnswerTable<Difference> fields();
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
  Time unforced{};  ///< predicted without what the log's environment forces; `predicted` where it forces nothing
  Bandwidth bus_bandwidth{};
  DataType dtype = DataType::single;
  bool streamed = false;           ///< a rate of many messages in flight
  Basis basis = Basis::datasheet;  ///< of the prediction
  std::optional<Path> path{};      ///< of a copy
  std::string test{};              ///< of a copy: its test, and the slowest of its cells
  std::string run{};
  bool operator==(const DiagnosedSize&) const = default;

  [[nodiscard]] double ratio() const { return measured / predicted; }
  [[nodiscard]] Operation operation() const {
    return {.collective = collective, .bytes = bytes, .ranks = ranks, .nodes = nodes, .dtype = dtype};
  }
  static AnswerTable<DiagnosedSize> fields();
};

/// Whether a run failed or is slow, and why. Names are those of `fabricost diagnose --json`.
struct Diagnosis {
  RunState state = RunState::nothing_to_judge;
  bool healthy = true;
  std::string verdict, normal{};
  std::vector<Finding> causes{};  ///< only expected_value_wrong and debug_env if healthy; other if a failure is not understood
  std::vector<RuleSeen> rules{};  ///< in the order of their files
  std::vector<NextQuestion> next{};
  std::vector<DiagnosedSize> sizes{};
  std::string system{};
  bool system_guessed = false;
  std::string adapters{};  ///< of the log, where they stand for the machine's own: the verdict names both
  Basis basis = Basis::datasheet;
  std::vector<Difference> differences{};  ///< the most telling first
  std::vector<std::string> notes{};

  /// Nothing proves a fault, though the run may not have been measured, or be slower than predicted.
  [[nodiscard]] bool fine() const { return state != RunState::failed && state != RunState::slow; }
  [[nodiscard]] std::optional<std::string> compared_with() const {
    return system.empty() ? std::nullopt : std::optional<std::string>{system};
  }
  static AnswerTable<Diagnosis> fields();
};

struct DiagnoseRequest {
  std::filesystem::path log;
  Machine system;
  int nodes = 0, ranks = 0;
  std::string expected;
  std::vector<std::string> more{};
  std::string against{};
  bool follow = false;
  std::optional<LaunchMode> launch{};
  std::optional<Inference> library{};
  std::vector<std::string> overrides{};
  std::string calibration{};

  static RequestTable<DiagnoseRequest> fields();
};

/// Reads logs (nccl-tests tables, NCCL's messages, or both), dumps or traces of one job, one per rank or node: files, packed ones (.gz),
/// folders, "-" for standard input. With `follow`, returns once a fault is seen in two looks, a second apart, or a run that was measured
/// has ended well; files may be rotated, folders may get more of them. \throws Refusal without a log; SpecError with file, line and remedy
/// when a file is not a log or has no usable content; RequestError for an unknown system, an expectation that is not a rate, ranks or nodes
/// that contradict the log
[[nodiscard]] Diagnosis answer(const DiagnoseRequest& request);

}  // namespace fabricost::observe
