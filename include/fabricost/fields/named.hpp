#pragma once
/// Things that a request names: a machine, a data type, measured times. Each is a name of the catalogue, a file, or the value itself.

#include <fabricost/choice/choice.hpp>
#include <fabricost/collective.hpp>
#include <fabricost/experts/routing.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/readings/points.hpp>
#include <fabricost/specs/load.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

[[nodiscard]] constexpr auto words_of(DataType) { return EnumWords{data_type_names, "a data type"}; }
[[nodiscard]] inline std::optional<DataType> parse_word(DataType, std::string_view text) { return parse_data_type(text); }
[[nodiscard]] constexpr auto words_of(Choice::Rule) { return EnumWords{rule_names, "a choice"}; }

[[nodiscard]] constexpr auto words_of(Precision) { return EnumWords{precision_names, "a precision"}; }
[[nodiscard]] constexpr auto words_of(LaunchMode) { return EnumWords{launch_mode_names, "a way to launch"}; }

/// One or several counts: 4, "2,4,8", "1:64:x2" or [2, 4, 8].
struct Counts {
  std::vector<int> values{};
  [[nodiscard]] friend bool operator==(const Counts&, const Counts&) = default;
};
/// Its notation, as interfaces read it (field.hpp). \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Counts& out);

/// A name of the catalogue, a file, or the thing itself: `request.system = "dgx-h100"`, `request.system = my_system`.
template <class Value>
struct NameOr {
  std::string name;                    ///< or a YAML file; empty where `value` is set or nothing was given
  std::shared_ptr<const Value> value;  ///< takes precedence over the name

  NameOr() = default;
  NameOr(std::string of) : name(std::move(of)) {}
  NameOr(const char* of) : name(of) {}
  NameOr(Value of) : value(std::make_shared<const Value>(std::move(of))) {}
  [[nodiscard]] explicit operator bool() const { return value != nullptr || !name.empty(); }
  /// The same name, or the same object.
  [[nodiscard]] friend bool operator==(const NameOr&, const NameOr&) = default;
};

/// A machine of data/systems or data/clusters, a file, or a System.
struct Machine : NameOr<System> {
  using NameOr<System>::NameOr;
  std::vector<std::string> overrides{};  ///< applied when `name` is loaded, as by load_system
  std::string calibration{};             ///< likewise
  /// The same name, or the same object, with the same changes.
  [[nodiscard]] friend bool operator==(const Machine&, const Machine&) = default;
  /// \param more_overrides \param other_calibration as load_system takes them
  /// \throws SpecError, RequestError as load_system; Refusal where they are given with a System instead of a name
  [[nodiscard]] System load(const std::vector<std::string>& more_overrides = {}, KernelSets kernels = {},
                            std::string_view other_calibration = {}) const;
  /// The system that load() returns, or `value` itself where it is set.
  [[nodiscard]] std::shared_ptr<const System> get(const std::vector<std::string>& more_overrides = {}, KernelSets kernels = {},
                                                  std::string_view other_calibration = {}) const;
};

/// A name or a file.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Machine& out);

/// \throws Refusal where no machine is named
void need_machine(const Machine& machine);

/// Parses "balanced", "uniform", "zipf" or "zipf:1.2", the ways tokens choose experts; empty for other words.
/// \param named the option or argument, for the message \throws RequestError for an invalid exponent
[[nodiscard]] std::optional<Routing> routing_named(std::string_view text, std::string_view named);
/// "zipf:1.2", "histogram:FILE". \throws RequestError naming the option; SpecError with line and column for the file
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Routing& out);

namespace field {

// Fields that several requests have, by the names of their members.
template <class R>
inline constexpr auto ask_system = asks(&R::system, "system", "--system,-s", "NAME", "A name (see fabricost machine) or a YAML file", true);
template <class R>
inline constexpr auto ask_machine = asks(&R::system, "system", "--system,-s", "NAME",
                                         "The machine: a name from fabricost machine, or a YAML file", true);
template <class R>
inline constexpr auto ask_gpus = asks(&R::gpus, "gpus", "--gpus,-g", Amount::count, any_count, "N", "Number of GPUs", true);
template <class R>
inline constexpr auto ask_calibration = asks(&R::calibration, "", "--calibration", "FILE", "Calibration: none or a file; default the shipped one");
template <class R>
inline constexpr auto ask_first_calibration = asks(&R::calibration, "calibration", "--calibration", "FILE",
                                                   "Calibration to start from: none or a file; default the shipped one");
template <class R>
inline constexpr auto ask_override = asks(&R::overrides, "", "--set", "PATH=VALUE", "Override one value of the system, repeatable");
template <class R>
inline constexpr auto ask_overrides = asks(&R::overrides, "", "--set", "PATH=VALUE...", "Override a value of the machine");
template <class R>
inline constexpr auto ask_choice = asks(&R::choice, "choice", "--choice", "RULE", "Algorithm and protocol: nccl (as its tuner picks, default)\nor fastest");
template <class R>
inline constexpr auto ask_nodes_of_files = asks(&R::nodes, "nodes", "--nodes,-n", Amount::count, any_count, "N",
                                                "Number of nodes, if the file does not say");
template <class R>
inline constexpr auto ask_ranks_of_files = asks(&R::ranks, "ranks", "--ranks,-r", Amount::count, any_count, "R",
                                                "Number of ranks in all, if the file does not say");

// The same of answers.
template <class A>
inline constexpr auto give_system = gives(&A::system, "system", "system", "Name of the machine.");
template <class A>
inline constexpr auto give_system_to_python = gives(&A::system, "", "system", "Name of the machine.");
template <class A>
inline constexpr auto give_operation = gives(&A::operation, "operation", "operation", "As in `all_reduce`.");
template <class A>
inline constexpr auto give_nodes = gives(&A::nodes, "nodes", "nodes", "Nodes that take part.");
template <class A>
inline constexpr auto give_ranks = gives(&A::ranks, "ranks", "ranks", "GPUs that take part.");
template <class A>
inline constexpr auto give_ranks_of_run = gives(&A::ranks, "ranks", "ranks", "GPUs that took part.");
template <auto time>
inline constexpr auto give_seconds_of_terms = gives(time, "time_us", "seconds", "The time, s: the sum of terms[i].seconds.",
                                                    in_microseconds);
template <class A>
inline constexpr auto give_binding_tier = gives(&A::binding_tier, "bottleneck", "", "Tier of the largest term.");
template <class A>
inline constexpr auto give_assumed = gives(&A::assumed, "assumed", "assumed",
                                           "What is taken for granted beyond the machine's description, a sentence each.");
template <class A>
inline constexpr auto give_terms = gives(&A::terms, "terms", "terms", "List of Term.");
template <class A>
inline constexpr auto give_search_time = gives(&A::search_time, "seconds", "search_seconds", "How long the search took by the clock, s: it differs from run to run.");
template <class A>
inline constexpr auto give_kernels = gives(&A::kernels, "kernels", "",
                                           "What kernels reach: measured, sibling (on other processors of this generation), or assumed.");

}  // namespace field

struct Sample {
  std::string file;           ///< empty: `points` are used
  std::vector<Point> points;  ///< given in memory
};

/// A file.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, Sample& out);

/// Reads all points. `otherwise` gives machine, nodes or ranks where a point does not. \param merged replaces
/// repeats in files by their median; points in memory are kept \throws SpecError, RequestError as read_points
[[nodiscard]] Points read(const std::vector<Sample>& samples, const PointDefaults& otherwise, bool merged);

/// "a.log, b.csv", or "samples given in memory".
[[nodiscard]] std::string files_text(const std::vector<Sample>& samples);

}  // namespace fabricost::core

namespace fabricost {
using core::Counts;
using core::Machine;
using core::Sample;
}  // namespace fabricost
