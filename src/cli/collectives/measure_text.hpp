#pragma once
/// \file measure_text.hpp
/// Results of a measurement, or its plan, as text and as JSON.

#include "measure/measure.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace fabricost::cli {

struct Terminal;

/// The files of the results and their purpose.
struct MeasuredFiles {
  std::string points, machine, system, system_because;
};

/// "8 GPUs called NVIDIA H200, CUDA 13.0, driver 580.95.05, nccl 2.27.3"
[[nodiscard]] std::string machine_text(const measure::Machine& machine, int processes);
[[nodiscard]] std::string text_of(const measure::Machine& machine, int processes, const measure::Measured& measured,
                                  const MeasuredFiles& files, const Terminal& terminal);
[[nodiscard]] std::string text_of(const measure::Machine& machine, int processes, const measure::Plan& plan, const Terminal& terminal);
[[nodiscard]] nlohmann::ordered_json to_json(const measure::Measured& measured, const MeasuredFiles& files);
[[nodiscard]] nlohmann::ordered_json to_json(const measure::Plan& plan);

}  // namespace fabricost::cli
