#pragma once
/// A point that `fabricost measure` writes: a row of the point CSV, made from a case, on disk during the measurement, so that it
/// survives a crash. The finished file replaces that one atomically (cli/write_file.hpp).
/// docs/reference/measured-files.md describes both files for users.
///
/// A collective is a row as nccl-tests prints it. A copy between two GPUs, or between a GPU and pinned host
/// memory, is a send_recv with its path, bytes and one-way time. Other probes use their own word
/// (readings/probe_table.hpp), with the working set as bytes.

#include "measure/device.hpp"

#include <fabricost/probes/measure/row.hpp>

#include <cstdio>
#include <filesystem>
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

/// `TARGET.PID.partial` beside the target (`TARGET.PID-1.partial` if a dead run left that file). Always a new
/// file: it neither overwrites one nor follows a link.
class PartialFile {
 public:
  /// \throws RequestError when no file can be created there, or the target exists and is not a regular file
  explicit PartialFile(const std::filesystem::path& target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  /// Does not delete the file: only `remove` is called after the points are stored elsewhere.
  ~PartialFile();

  /// Writes a line and passes it to the operating system, so that it survives a crash. A full disk is
  /// reported when the finished file is written.
  void line(std::string_view text);
  void remove();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace fabricost::probes::measure
