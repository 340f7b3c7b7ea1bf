#pragma once
/// Memory of a GPU as text: the items in GiB, whether they fit, and the smallest change that makes them fit.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/memory/advice.hpp>
#include <fabricost/units.hpp>

#include <string>
#include <vector>

namespace fabricost::plan {

/// "mlp,moe_act"; empty for none.
[[nodiscard]] std::string names_of(SetOf<RecomputeModule> modules);
/// "none", "full", "selective", "selective mlp", "full of 12 layers".
[[nodiscard]] std::string recompute_text(const Layout& layout);

/// One part of a GPU's memory; they sum to MemoryUse::total.
struct MemoryPart {
  std::string name{};
  Bytes bytes{};
  bool operator==(const MemoryPart&) const = default;
};
/// The largest first, without those that are nothing.
[[nodiscard]] std::vector<MemoryPart> parts_of(const MemoryUse& use);

/// The items of the worst stage, largest first, each with its share of the total and its contents; then the
/// room left or missing on a GPU of `capacity` bytes with `margin` (0 to 1) of it kept free; if it does not
/// fit, the smallest change that does.
/// \param max_tp, host as smallest_change_that_fits \param outer bytes of the outer optimizer's state, of several sites \throws RequestError for an invalid capacity or margin
[[nodiscard]] std::string memory_text(const Model& model, const Layout& layout, const MemoryStack& stack, double capacity,
                                      double margin = 0, int max_tp = 8, double host = 0, double outer = 0);

}  // namespace fabricost::plan
