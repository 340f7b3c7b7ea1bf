#pragma once
/// Turns samples of kernels on machines into fitted sets of constants with their residuals.

#include "evaluation/kernel_fit.hpp"
#include <fabricost/plan/evaluation/calibrate_custom.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// The parts of a sample that only the report needs.
struct SampleOf {
  std::string system;
  std::size_t interval = 0;  ///< index into the names of the interval classes
  int ranks = 0;
  int domain = 0;         ///< GPUs of the machine's scale-up domain
  std::size_t place = 0;  ///< in measured_names
  double bytes = 0;       ///< of the message; 0: no message of one size
  std::string_view launch{}, library{};
  double rate = 0;  ///< as in FittedOn
};

class KernelSamples {
 public:
  explicit KernelSamples(ConstantSet set) : set_(set) {}
  /// The index of the machine's generation; a new one is added with a prior stretched by the machine's steps
  /// (parameters/related.hpp).
  [[nodiscard]] std::size_t generation(const System& system);
  void add(KernelSample sample, SampleOf of) {
    samples_.push_back(std::move(sample));
    of_.push_back(std::move(of));
  }
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  /// \param classes names of interval widths
  [[nodiscard]] Calibration fitted(std::span<const std::string_view> classes) const;

 private:
  ConstantSet set_;
  std::vector<Generation> generations_;
  std::vector<Constants> prior_;
  std::vector<KernelSample> samples_;
  std::vector<SampleOf> of_;
};

}  // namespace fabricost::plan
