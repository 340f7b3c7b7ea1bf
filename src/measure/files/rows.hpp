#pragma once
/// \file rows.hpp
/// How a case becomes a row, and a row a line.
///
/// A collective is a row as nccl-tests would give. A copy between two GPUs, or between a GPU and pinned host memory, is a send_recv with
/// its path, bytes and time one way. Anything else bears the probe's own word (readings/probe_table.hpp), with its working set as bytes.

#include "measure/device.hpp"

#include <fabricost/measure/row.hpp>

#include <string>
#include <string_view>

namespace fabricost::measure {

/// Who takes part in collectives: `nodes` of `processes / nodes` processes each. \throws RequestError when they do not spread evenly
struct Layout {
  int nodes = 1, processes_per_node = 1;
};
[[nodiscard]] Layout layout_of(const Machine& machine, int processes);

/// A row with everything the case and the machine say; time, spread and state are still to be filled in.
[[nodiscard]] Row row_of(const Case& what, const Machine& machine, const Layout& layout, std::string_view source, std::string_view system);

/// One line, ended. Times have 6 significant digits, notes read `key value; key value`.
[[nodiscard]] std::string csv_line(const Row& row);

}  // namespace fabricost::measure
