#pragma once
/// \file transfer.hpp
/// Transfers outside of collectives as text a person can check with a calculator. Every number is the answer's own.

#include <fabricost/compiled_part.hpp>
#include <fabricost/network/load_store.hpp>
#include <fabricost/network/storage.hpp>

#include <string>

namespace fabricost {

/// The parts on the way from storage with their rates, which is the slowest, and the sum; one line each.
[[nodiscard]] std::string explain(const TransferTime& time);
/// Every way of sharing the weights, direct and through the host.
[[nodiscard]] std::string explain(const LoadingWays& loading);
/// The three lines start + s / rate, and where they cross.
[[nodiscard]] std::string explain(const AccessLines& lines);
/// One sender's line and what is left of its rate.
[[nodiscard]] std::string explain(const Incast& met);

}  // namespace fabricost
