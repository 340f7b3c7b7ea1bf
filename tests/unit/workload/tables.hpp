#pragma once
/// Tables of published results as text, and the results of reading them.

#include "support/written_file.hpp"

#include <fabricost/error.hpp>
#include <fabricost/plan/evaluation/workload.hpp>

#include <string>
#include <vector>

namespace tables {

using File = fabricost::test::WrittenFile;

/// The faults of a refused text; empty if it is read.
inline std::vector<fabricost::core::Issue> faults(const std::string& text) {
  const File file(text);
  try {
    (void)fabricost::plan::validate_workloads({file.path()});
  } catch (const fabricost::core::SpecError& error) {
    return error.issues();
  }
  return {};
}

}  // namespace tables
