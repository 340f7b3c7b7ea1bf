#pragma once
/// \file rows.hpp
/// A point that `fabricost measure` writes: a row of the point CSV, made from a case.
/// docs/reference/measured-files.md describes it for users.
///
/// A collective is a row as nccl-tests prints it. A copy between two GPUs, or between a GPU and pinned host
/// memory, is a send_recv with its path, bytes and one-way time. Other probes use their own word
/// (readings/probe_table.hpp), with the working set as bytes.

#include "measure/device.hpp"

#include <fabricost/probes/measure/row.hpp>

#include <string>
#include <string_view>

namespace fabricost::probes::measure {

/// Who takes part in collectives: `nodes` of `processes / nodes` processes each. \throws RequestError when they do not spread evenly
struct Layout {
  int nodes = 1, processes_per_node = 1;
};
[[nodiscard]] Layout layout_of(const Machine& machine, int processes);

/// A row with the properties of the case and machine, without time, spread and state.
[[nodiscard]] Row row_of(const Case& what, const Machine& machine, const Layout& layout, std::string_view source, std::string_view system);

/// One line with its line end. Times have 6 significant digits, notes have the form `key value; key value`.
[[nodiscard]] std::string csv_line(const Row& row);

}  // namespace fabricost::probes::measure
