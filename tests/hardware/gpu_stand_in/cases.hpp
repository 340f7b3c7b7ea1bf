#pragma once
/// \file cases.hpp
/// Every kind of case that the GPU probes prepare, at a size, with the memory that holds its result.

#include "measure/device.hpp"

#include <string>
#include <vector>

namespace stand_in {

/// Memory in which a turned byte must be noticed: the first `bytes` of pointer `pointer` of the nth piece of work of that name.
struct Result {
  const char* work = "";
  long nth = 1;
  int pointer = 0;
  std::uint64_t bytes = 0;
};

struct NamedCase {
  std::string name;
  fabricost::probes::measure::Case what;
  std::vector<Result> results;  ///< none: the probe has no result
};

/// \param bytes of a transfer, a working set or a collective, where the probe has a size
[[nodiscard]] std::vector<NamedCase> cases_of(int devices, std::uint64_t bytes);

/// Collectives in every type, in place and not.
[[nodiscard]] std::vector<NamedCase> collectives_of(int devices, std::uint64_t bytes);

}  // namespace stand_in
