#pragma once
/// \file models.hpp
/// Which GPU of data/gpus a topology file's clues mean: its marketing name, PCI id, architecture, direct links, cloud instance. Each answer
/// says what it rests on. Private to the sources.

#include <fabricost/readings/topology.hpp>

#include <string>

namespace fabricost::io {

struct ModelGuess {
  std::string gpu;     ///< name in data/gpus
  std::string reason;  ///< what it rests on
};

/// \throws RequestError where no file of data/gpus claims what the topology shows
[[nodiscard]] ModelGuess guess_model(const DescribedTopology& topology);

}  // namespace fabricost::io
