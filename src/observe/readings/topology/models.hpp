#pragma once
/// \file models.hpp
/// The GPU of data/gpus that a topology file describes, identified by marketing name, PCI id, architecture,
/// direct links or cloud instance, with the reason.

#include <fabricost/observe/readings/topology.hpp>

#include <string>

namespace fabricost::observe {

struct ModelGuess {
  std::string gpu;     ///< name in data/gpus
  std::string reason;  ///< the clue that identified it
};

/// \throws RequestError if no file of data/gpus matches
[[nodiscard]] ModelGuess guess_model(const DescribedTopology& topology);

}  // namespace fabricost::observe
