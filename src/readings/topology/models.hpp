#pragma once
/// \file models.hpp
/// Which GPU of data/gpus a topology file's clues mean: its marketing name, PCI id, compute version, NVLink count, cloud instance. Each
/// answer says what it rests on. Private to the sources.

#include <fabricost/readings/topology.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace fabricost::io {

struct ModelGuess {
  std::string gpu;     ///< name in data/gpus; empty: no clue
  std::string reason;  ///< what it rests on
};

/// A cloud instance whose topology file gives addresses alone.
struct CloudInstance {
  std::string_view name;
  int gpus = 0, nics = 0;
  std::string_view gpu, source;
};
/// nullptr: none of that name.
[[nodiscard]] const CloudInstance* cloud_instance(std::string_view name);
/// The first name of a known instance in a text, or nullptr.
[[nodiscard]] const CloudInstance* cloud_instance_in(std::string_view text);

/// Name in data/gpus of what a driver calls a GPU ("NVIDIA H100 80GB HBM3"); nothing: unknown; empty: only a near relative
/// is there.
[[nodiscard]] std::optional<std::string_view> gpu_named(std::string_view marketing);

[[nodiscard]] ModelGuess guess_model(const DescribedTopology& topology);

}  // namespace fabricost::io
