#pragma once
/// \file terms.hpp
/// The terms of an operation's time, as answers list them.

#include <fabricost/fields/fields.hpp>
#include <fabricost/predict/prediction.hpp>

#include <type_traits>

namespace fabricost::core {

[[nodiscard]] constexpr auto table_for(std::type_identity<Term> /*of*/) {
  return Table{
      gives(&Term::name, "name", "name", "launch, serial steps, protocol floor, latency growth, wire, local copies or sends to peers."),
      gives(&Term::tier, "tier", "tier", "Name of the tier it is spent in; `gpu` for the launch."),
      gives(&Term::time, "time_us", "seconds", "Its share of the time, s.", in_microseconds),
  };
}

}  // namespace fabricost::core
