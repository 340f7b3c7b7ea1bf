#pragma once
/// Transfers other than collectives as text that can be checked with a calculator.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/network/load_store.hpp>
#include <fabricost/plan/network/storage.hpp>

#include <string>

namespace fabricost::plan {

/// The parts of the path from storage with their rates, the slowest of them, and the sum; one line each.
[[nodiscard]] std::string explain(const TransferTime& time);
/// Every way of sharing the weights, direct and through the host.
[[nodiscard]] std::string explain(const LoadingWays& loading);
/// The three lines start + s / rate, and where they cross.
[[nodiscard]] std::string explain(const AccessLines& lines);
/// One sender's line and the share of its rate that is left.
[[nodiscard]] std::string explain(const Incast& met);

}  // namespace fabricost::plan
