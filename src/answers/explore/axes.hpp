#pragma once
/// \file axes.hpp
/// What is varied, and the machine and the counts at each point: machines and GPUs by name outside, dials and counts inside. Private.

#include "answers/need/unknown.hpp"

#include <fabricost/answers/design/explore.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::explore {

/// Counts of a job that `need` does not ask for.
enum class Length : unsigned char { isl, osl };

/// One thing that is varied: machines or GPUs by name, a dial that the machine's file declares, or a number.
struct Axis {
  ExploreAxis shown;
  bool machine = false, gpu = false, declared = false;
  std::optional<need::Unknown> number{};
  std::optional<Length> length{};

  /// Its values have no order.
  [[nodiscard]] bool named() const { return !shown.words.empty(); }
  /// Another value is another machine to read.
  [[nodiscard]] bool read() const { return machine || gpu || declared; }
};

/// The axes in the order given. \param given the machine, if it is not varied \throws Refusal for what is unknown, given twice or without
/// values
[[nodiscard]] std::vector<Axis> axes_of(const std::vector<std::string>& vary, const Machine& given, bool serving);

/// Points of the nested loops, the last axis fastest. \throws Refusal for more than 10^9
[[nodiscard]] long long points_of(const std::vector<Axis>& axes);
/// Place on each axis of a point.
[[nodiscard]] std::vector<std::size_t> places_of(const std::vector<Axis>& axes, long long number);

/// Counts of the job at a point; none: as the request has it.
struct Job {
  std::optional<int> gpus{}, nodes{}, batch{}, sequence{}, isl{}, osl{};
};

/// Machines by the places of axes that are read, each once.
class Machines {
 public:
  /// \throws SpecError, RequestError as load_system; Refusal where no machine is named, or a GPU is varied in one that was made already
  Machines(const std::vector<Axis>& axes, const Machine& given, const std::vector<std::string>& overrides, const std::string& calibration,
           KernelSets kernels, const std::optional<Inference>& library);

  struct One {
    std::shared_ptr<const System> system;
    std::string asked;  ///< the name it was asked for by
  };
  [[nodiscard]] const std::vector<One>& all() const { return all_; }

 private:
  std::vector<One> all_;
};

/// Which of the machines a point has.
[[nodiscard]] std::size_t machine_of(const std::vector<Axis>& axes, const std::vector<std::size_t>& places);

/// The machine of a point, its dials turned (the domain first: NICs follow it), and the job's counts. \throws RequestError as turned
[[nodiscard]] System machine_at(const std::vector<Axis>& axes, const std::vector<std::size_t>& places, const System& whole, Job& job);

}  // namespace fabricost::explore
