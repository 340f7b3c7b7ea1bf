#pragma once
/// \file mpi_device.hpp
/// Collectives of any MPI library as a Device (measure/device.hpp). All processes call the same functions in
/// the same order.

#include "measure/mpi/host/environment.hpp"
#include "measure/mpi/world.hpp"

#include "measure/device.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace fabricost::probes::measure::mpi {

struct MpiOptions {
  double limit = 300;  ///< seconds after which processes give up waiting
  bool apart = false;  ///< times processes as if they had no common clock; true in tests
};

class MpiDevice final : public Device {
 public:
  explicit MpiDevice(const MpiOptions& options);

  [[nodiscard]] Machine describe() override;
  [[nodiscard]] State state(int unit) override;
  [[nodiscard]] std::unique_ptr<Job> prepare(const Case& what) override;
  [[nodiscard]] int process() const override { return world_.rank(); }
  [[nodiscard]] int processes() const override { return world_.ranks(); }
  [[nodiscard]] double agreed(double value) override;
  [[nodiscard]] bool any(bool value) override { return world_.any(value); }
  [[nodiscard]] const World& world() const { return world_; }

 private:
  /// \throws Unsupported when the case forces another algorithm than the environment
  void check_algorithm(const Case& what) const;

  MpiOptions options_;
  World world_;
  std::vector<Forced> forced_;
};

}  // namespace fabricost::probes::measure::mpi
