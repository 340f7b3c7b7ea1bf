/// \file job_files.cpp
/// The readers of logs and traces that joined.

#include <fabricost/readings/job_files.hpp>

namespace fabricost::core {
namespace {

[[nodiscard]] JobFiles& joined() {
  static JobFiles readers{.is_trace = [](const std::filesystem::path&) { return false; },
                          .points_of = [](const std::vector<std::filesystem::path>&, const PointDefaults&) { return Points{}; },
                          .contradiction = [](const std::filesystem::path&, const System&) { return std::string{}; },
                          .usual_system = [](const std::filesystem::path&) { return std::string{}; }};
  return readers;
}

}  // namespace

const JobFiles& job_files() { return joined(); }

void use_job_files(const JobFiles& readers) { joined() = readers; }

}  // namespace fabricost::core
