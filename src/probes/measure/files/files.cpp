/// Rows of a case, and the file that grows by a line at a time.

#include "measure/files/files.hpp"

#include "text/ascii.hpp"
#include "text/csv.hpp"
#include "text/joined.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <unistd.h>

namespace fabricost::probes::measure {

namespace {

std::string flag(std::optional<bool> value) { return value ? *value ? "1" : "0" : ""; }

/// A row with only a forced protocol has no algorithm; forced in-switch reduction counts as an algorithm.
void collective_cells(Row& row, const Case& what, const Machine& machine, const Layout& layout) {
  row.operation = std::string{name(what.operation)};
  row.dtype = what.dtype;
  row.nodes = layout.nodes;
  row.gpus_per_node = layout.processes_per_node * static_cast<int>(std::max<std::size_t>(1, what.gpus.size()));
  row.in_place = what.in_place;
  row.library = machine.library;
  row.library_version = machine.library_version;
  row.algorithm = what.algorithm;
  row.protocol = what.protocol;
  if (what.gpus.size() < machine.units.size()) row.notes.emplace_back("gpus", joined(what.gpus, ","));
  if (what.registered != Registration::none)
    row.notes.emplace_back("registered", what.registered == Registration::own ? "yes" : "symmetric");
  if (what.nvls && !what.algorithm) row.notes.emplace_back("nvls", *what.nvls ? "on" : "off");
}

void transfer_cells(Row& row, const ProbeType& probe, const Machine& machine, Path path) {
  row.operation = std::string{name(Collective::send_recv)};
  row.dtype = DataType::int8;
  row.path = path;
  row.gpus_per_node = path == Path::gpu_gpu ? 2 : 1;
  row.library = std::string{probe.mover};
  row.library_version = machine.runtime_version;
  row.notes.emplace_back("probe", probe.word);
}

void peer_cells(Row& row, const Case& what, const Machine& machine) {
  std::set<int> taking_part;
  std::string pairs;
  for (const auto& [from, to] : what.pairs) {
    taking_part.insert({from, to});
    pairs += fmt::format("{}{}>{}", pairs.empty() ? "" : ",", from, to);
  }
  const ProbeType& probe = type_of(what.kind);
  if (!probe.mover.empty() && what.pairs.size() == 1) transfer_cells(row, probe, machine, Path::gpu_gpu);
  if (!probe.mover.empty()) row.both_ways = what.both_ways;
  row.gpus_per_node = static_cast<int>(std::max<std::size_t>(1, taking_part.size()));
  row.notes.emplace_back("pairs", pairs);
}

void host_cells(Row& row, const Case& what, const Machine& machine) {
  const ProbeType& probe = type_of(what.kind);
  if (what.pinned && what.gpus.empty() && !probe.mover.empty()) transfer_cells(row, probe, machine, Path::gpu_host);
  if (probe.sizes != ProbeSizes::none) row.both_ways = what.kind == ProbeKind::host_both_ways || what.both_ways;
  row.notes.emplace_back("pinned", what.pinned ? "yes" : "no");
  if (what.gpus.empty()) {
    row.notes.emplace_back("gpu", std::to_string(what.gpu));
  } else {
    row.gpus_per_node = static_cast<int>(what.gpus.size());
    row.notes.emplace_back("gpus", joined(what.gpus, ","));
  }
}

}  // namespace

std::string_view Row::note(std::string_view key) const {
  const auto found = std::find_if(notes.begin(), notes.end(), [&](const auto& n) { return n.first == key; });
  return found == notes.end() ? std::string_view{} : std::string_view{found->second};
}

Layout layout_of(const Machine& machine, int processes) {
  const int nodes = machine.nodes == 0 ? processes : machine.nodes;
  if (nodes < 1 || processes % nodes != 0)
    throw RequestError(fmt::format("{} processes do not spread evenly over {} nodes: start as many on each", processes, nodes));
  return {nodes, processes / nodes};
}

Row row_of(const Case& what, const Machine& machine, const Layout& layout, std::string_view source, std::string_view system) {
  Row row;
  row.source = std::string{source};
  row.system = std::string{system};
  row.bytes = what.bytes;
  row.operation = std::string{word(what.kind)};
  row.library = lowered(machine.runtime);
  row.library_version = machine.runtime_version;
  const auto of_gpu = [&] { row.notes.emplace_back("gpu", std::to_string(what.gpu)); };
  switch (type_of(what.kind).group) {
    case ProbeGroup::memory:
    case ProbeGroup::launch: of_gpu(); break;
    case ProbeGroup::host: host_cells(row, what, machine); break;
    case ProbeGroup::peer: peer_cells(row, what, machine); break;
    case ProbeGroup::collectives: collective_cells(row, what, machine, layout); break;
    case ProbeGroup::overlap:
      row.dtype = what.dtype;
      row.gpus_per_node = static_cast<int>(std::max<std::size_t>(1, what.gpus.size()));
      row.notes.emplace_back("beside", name(what.operation));
      break;
  }
  if (what.cold) row.notes.emplace_back("cold", "yes");
  return row;
}

std::string csv_line(const Row& row) {
  std::string notes;
  for (const auto& [key, value] : row.notes) notes += fmt::format("{}{} {}", notes.empty() ? "" : "; ", key, value);
  const auto quoted = [](std::string_view text) { return csv_quoted(text); };
  return fmt::format("{},{},{},{},{},{},{},{:.6g},{},{},{},{},{},{},{},{},\n", quoted(row.source), quoted(row.system), row.nodes,
                     row.gpus_per_node, row.operation, row.dtype ? name(*row.dtype) : "", row.bytes, 1e6 * row.seconds, flag(row.in_place),
                     quoted(row.library), quoted(row.library_version), row.algorithm ? name(*row.algorithm) : "",
                     row.protocol ? name(*row.protocol) : "", quoted(notes), row.path ? name(*row.path) : "", flag(row.both_ways));
}

PartialFile::PartialFile(const std::filesystem::path& target) {
  std::error_code error;
  if (std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error))
    throw RequestError(fmt::format("-o {}: is not a regular file", target.string()));
  constexpr int max_left = 100;  // partial files of dead runs with our process id
  int number = -1;
  for (int i = 0; i < max_left && number < 0 && (i == 0 || errno == EEXIST || errno == ELOOP); ++i) {
    path_ = target;
    path_ += fmt::format(".{}{}.partial", getpid(), i == 0 ? "" : fmt::format("-{}", i));
    number = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  }
  if (number >= 0) {
    file_ = ::fdopen(number, "wb");
    if (file_ == nullptr) (void)::close(number);
  }
  if (file_ == nullptr) throw RequestError(fmt::format("-o {}: cannot be written there: {}", target.string(), std::strerror(errno)));
}

PartialFile::~PartialFile() {
  if (file_ != nullptr) (void)std::fclose(file_);
}

void PartialFile::line(std::string_view text) {
  if (file_ == nullptr) return;
  (void)std::fwrite(text.data(), 1, text.size(), file_);
  (void)std::fflush(file_);
}

void PartialFile::remove() {
  if (file_ != nullptr) (void)std::fclose(file_);
  file_ = nullptr;
  std::error_code error;
  std::filesystem::remove(path_, error);
}

}  // namespace fabricost::probes::measure
