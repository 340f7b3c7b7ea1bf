#pragma once
/// \file unknown.hpp
/// What can be asked for: a count of the job, or a dial of the machine; the values it can take. Private.

#include <fabricost/hardware/dials.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::need {

enum class JobCount : unsigned char { gpus, nodes, batch, sequence };

/// One of the two is set.
struct Unknown {
  std::string_view name, unit;  ///< unit as printed; empty: a count
  std::optional<JobCount> count{};
  std::optional<Dial> dial{};
  double worth = 1;  ///< SI units of one of the unit
  bool whole = true;
};

/// \param serving without sequences and tokens of a step \throws Refusal with all names
[[nodiscard]] const Unknown& unknown_named(const std::string& text, bool serving);

/// Values in the unknown's unit, ascending, without repeats: "25:400:x2GB/s", "8,16,36,72", "1:16:+1". \throws Refusal
[[nodiscard]] std::vector<double> values_of(const std::string& text, const Unknown& unknown);

/// A wide range: counts 1, 2, 3, 4, 6, 8, 12 and so on to `most`; for a dial that is no count, from a 64th to 64 times of where it
/// stands, four to an octave; domains that NVLink and its kin were built for, too. \param each GPUs that come together (a node)
[[nodiscard]] std::vector<double> range_of(const Unknown& unknown, const System& system, double most, int each);

/// "dial.nic.bandwidth=5e10B/s". \param value in the units of value_of
[[nodiscard]] std::string override_of(Dial dial, double value);

/// So much that more changes nothing, in the unknown's unit.
[[nodiscard]] double unbounded(const Unknown& unknown, const System& system, double most);

}  // namespace fabricost::need
