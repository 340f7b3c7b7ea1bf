#pragma once
/// Answers of the library for a few machines, as text, which must be equal in every locale and thread.

#include <fabricost/explain/explain.hpp>
#include <fabricost/plan/memory/advice.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/pictures/picture.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/readings/points.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <cmath>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace process {

using namespace fabricost::plan;
using namespace fabricost::core::units;

/// A machine's picture and the explanation of a collective on it.
inline std::string told(const std::string& name) {
  const System system = load_system(name);
  std::string out = picture(system);
  if (system.gpus_per_node > 1) out += explain(system, AllReduce{.bytes = MiB(1.5), .ranks = system.gpus_per_node});
  return out;
}

/// The message with which a call is refused.
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "not refused";
}

/// Everything that reads or writes a fraction.
inline std::vector<std::string> answers() {
  std::vector<std::string> out;
  for (const char* name : {"dgx-h100", "mi300x-8", "gb200-nvl72", "L40S_PCIE"}) out.push_back(told(name));
  const System changed =
      load_system("dgx-h100", std::vector<std::string>{"nvlink.bandwidth=450.5 GB/s per direction", "nic.latency=1.25 us"});
  out.push_back(picture(changed));
  out.push_back(refusal([] { (void)load_system("dgx-h100", std::vector<std::string>{"nvlink.bandwidth=450.5 GB/s"}); }));
  out.push_back(refusal([] { (void)load_system("dgx-h100", std::vector<std::string>{"nvlink.efficiency=1.5"}); }));
  out.push_back(refusal([] { (void)load_system("MI300X"); }));
  out.push_back(refusal([] { (void)payload(Gbit_per_s(400), 1.5); }));
  out.push_back(size_text(GB(1.5)));
  out.push_back(memory_detail::gib(1.5 * 1073741824));
  for (const Point& point : read_points(std::filesystem::path{FABRICOST_SOURCE_DIR} / "examples/notebooks/logs/two-a100.txt",
                                        {.system = "hgx-a100-4", .nodes = 1})
                                .points)
    out.push_back(size_text(B(point.bytes)) + " " + std::to_string(std::llround(point.seconds * 1e12)) + " ps");
  return out;
}

}  // namespace process
