#pragma once
/// Settings of NCCL's environment that tables and logs state.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/price/protocol.hpp>

#include <optional>
#include <string_view>

namespace fabricost::core {

/// What NCCL's environment forces or turns off.
struct Environment {
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
  bool nvls = true, pxn = true;

  /// Takes the value of a variable; one that nobody models changes nothing.
  void set(std::string_view variable, std::string_view value);
  /// Takes what notes state: `NCCL_NVLS_ENABLE=0`, `NVLS off`.
  void read(std::string_view notes);
};

}  // namespace fabricost::core
