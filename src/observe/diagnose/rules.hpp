#pragma once
/// Rules of diagnosis in data/diagnosis: signs (words of a log), signals (computed from it,
/// src/diagnose/signals_*.cpp) with their thresholds, and rows with their conclusions. Private.

#include "readings/logs/nccl_info.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::observe::diagnosis {

struct Context;

/// Thresholds by name, in coherent units: the signal's general ones and those of the row that uses it.
class Numbers {
 public:
  void set(std::string_view name, std::vector<double> values);
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// \throws std::logic_error when the signal did not declare it
  [[nodiscard]] double operator[](std::string_view name) const { return list(name).front(); }
  [[nodiscard]] double get(std::string_view name, double otherwise) const { return has(name) ? list(name).front() : otherwise; }
  [[nodiscard]] const std::vector<double>& list(std::string_view name) const;

 private:
  [[nodiscard]] const std::vector<double>* find(std::string_view name) const;
  std::vector<std::pair<std::string, std::vector<double>>> values_;
};

/// Findings of a signal as texts for evidence and remedy, in the order of its declared names.
using Facts = std::vector<std::string>;
/// A finding without facts.
[[nodiscard]] inline std::optional<Facts> found(bool is) { return is ? std::optional{Facts{}} : std::nullopt; }

struct Threshold {
  enum class Use : unsigned char { needed, optional, list };
  std::string_view name;
  QuantityKind kind = QuantityKind::number;
  Use use = Use::needed;
};

/// A property computed from a log and its comparison.
struct Signal {
  std::string_view name;
  std::optional<Facts> (*test)(const Context&, const Numbers&) = nullptr;  ///< nullptr: only thresholds
  std::vector<std::string_view> facts = {};
  std::vector<Threshold> thresholds = {};
};
[[nodiscard]] std::span<const Signal> network_signals();
[[nodiscard]] std::span<const Signal> node_signals();
[[nodiscard]] std::span<const Signal> run_signals();
[[nodiscard]] std::span<const Signal> rank_report_signals();
[[nodiscard]] std::span<const Signal> dump_signals();
[[nodiscard]] std::span<const Signal> stated_signals();
[[nodiscard]] std::span<const Signal> pair_signals();
[[nodiscard]] std::span<const Signal> setting_signals();
[[nodiscard]] std::span<const Signal> curve_signals();
[[nodiscard]] std::span<const Signal> quoted_signals();
[[nodiscard]] std::span<const Signal> expectation_signals();

[[nodiscard]] std::string uppered(std::string text);
[[nodiscard]] std::vector<const Signal*> all_signals();
/// The {names} in a text.
[[nodiscard]] std::vector<std::string> placeholders(std::string_view text);

/// Weight of a finding relative to a measurement.
enum class Role : unsigned char {
  proof,        ///< holds whatever the table shows
  hint,         ///< counts only while the run is in doubt
  defence,      ///< explains why a healthy run looks slow
  expectation,  ///< the expectation was higher than possible
  last_resort,  ///< used if there is no other finding
  invalid,      ///< the log contradicts itself: nothing else counts
  failure,      ///< the run ended or hangs because of it, unless its table goes on after the line
  damage,       ///< the results are wrong, so that the table does not count
  unexplained   ///< a line that speaks of a failure, used if no failure and no proof explains it
};
inline constexpr std::array<std::string_view, 9> role_names{"proof",       "hint",    "defence", "expectation",
                                                            "last_resort", "invalid", "failure", "damage",      "unexplained"};

/// A sign or a signal, possibly negated.
struct Term {
  bool negated = false;
  std::string name;
  const Signal* signal = nullptr;  ///< nullptr: a sign
  Numbers numbers = {};
};
using Condition = std::vector<Term>;  ///< one of them

/// What a device tells of itself, which a good table does not refute: to be mentioned, or that it is failing.
enum class OfDevice : unsigned char { no, noted, failing };
inline constexpr std::array<std::string_view, 3> of_device_names{"no", "noted", "failing"};

/// The conclusion if every condition holds.
struct Row {
  std::string id{};  ///< FILE.cause.number, of its cause's rows in the file
  std::optional<Cause> cause{};  ///< nothing: a fact of that name has it
  double weight = 0;
  Role role = Role::hint;
  std::vector<Condition> when{};
  std::string evidence{}, remedy{};  ///< with {facts}
  std::string what{};                ///< what failed, in a few words
  bool event = true;                 ///< false: the name of a device or a usual setting, which is no fault of a run that nothing measured
  OfDevice device = OfDevice::no;
};

/// Values of a variable that match; an empty test matches all.
struct ValueTest {
  std::vector<std::string> any;  ///< in upper case
  std::string starts, not_starts, holds;
  std::optional<double> max;
  [[nodiscard]] bool fits(std::string_view value) const;
};

/// The effect of a variable that was set to such values.
struct SettingRow {
  std::string variable, what;
  ValueTest value;
  Row row;
};
/// The cause if setting a variable to such values helped.
struct Help {
  std::string variable;
  ValueTest value;
  Cause cause = Cause::other;
};

struct RuleFile {
  int order = 0;
  bool other_runs = false;               ///< its evidence may belong to a run other than the log's own
  std::vector<std::vector<Row>> groups;  ///< the first row of each group that holds applies
  std::vector<SettingRow> settings;
};

/// A command, and the causes that its outcomes tell apart: those of one group from those of another and from all that are not named.
struct Question {
  std::string ask, tells;
  std::vector<Condition> when{};
  std::vector<std::vector<Cause>> groups;
};

/// Public runs of one test on machines that are alike.
struct PublicRuns {
  std::string gpu, operation;  ///< gpu: how its name begins
  int nodes = 0, gpus = 0;     ///< gpus: of a node
  double network = 0;          ///< of a node's adapters, byte/s; 0: one node
  std::vector<double> bus;     ///< byte/s, ascending
};

struct Rules {
  std::vector<Sign> signs;
  std::vector<RuleFile> files;  ///< in their order: of equal weights, the first is named first
  std::vector<Help> helps;
  std::vector<Question> questions;
  std::vector<PublicRuns> public_runs;
  std::map<std::string, Numbers, std::less<>> numbers;  ///< of each signal, wherever it is used
};

/// Reads data/diagnosis, once per data folder and process. \throws SpecError with every fault of its files
[[nodiscard]] const Rules& load_rules();

struct Clue {
  Finding finding;
  Role role = Role::hint;
  int last_line = 0;  ///< where its signs were last seen; 0: not from a sign
  bool event = true;
  OfDevice device = OfDevice::no;
};
/// The findings of the rows with these roles; settings first.
[[nodiscard]] std::vector<Clue> clues_of(const RuleFile& file, const Context& context, std::span<const Role> roles);

}  // namespace fabricost::observe::diagnosis
