#pragma once
/// The constants of the model, one by one: the value of each on a machine, its value where nothing was
/// measured, and its treatment in a fit.

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

struct ConstantsRequest {
  Machine system;                   ///< none: the values without measurements
  std::optional<ConstantSet> only;  ///< one set: scale_up, pcie, transport, compute, custom or moe
  std::string calibration;          ///< none, or a calibration file; default the shipped one

  static RequestTable<ConstantsRequest> fields();
};

struct ListedConstant {
  std::string set, name, kind, fit;
  double value = 0, prior = 0, min = 0, max = 0, spread = 0;
  bool operator==(const ListedConstant&) const = default;

  static AnswerTable<ListedConstant> fields();
};

/// A set of constants and where its values are from.
struct ListedSet {
  std::string name, calibration, basis, source;
  int own = 0, shared = 0, held = 0, form = 0;
  bool operator==(const ListedSet&) const = default;

  static AnswerTable<ListedSet> fields();
};

struct ConstantsAnswer {
  std::string system;
  std::vector<ListedSet> sets{};
  std::vector<ListedConstant> constants{};

  static AnswerTable<ConstantsAnswer> fields();
};

/// \throws SpecError, RequestError as load_system
[[nodiscard]] ConstantsAnswer answer(const ConstantsRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::ConstantsAnswer;
using core::ConstantsRequest;
}  // namespace fabricost
