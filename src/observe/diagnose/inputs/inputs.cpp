/// Makes one file of the inputs. Packed files and dumps are recognised by their first bytes, not by their name.

#include "diagnose/inputs/inputs.hpp"

#include "readings/dumps/byte_source.hpp"
#include "readings/dumps/pickle.hpp"
#include "readings/dumps/ras.hpp"
#include "readings/logs/nccl_info.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <system_error>

namespace fabricost::observe::diagnosis {

namespace {

namespace fs = std::filesystem;
constexpr std::size_t max_logs = 65536, block = std::size_t{1} << 18U, longest_dump = std::size_t{1} << 28U;
constexpr std::uintmax_t short_log = std::uintmax_t{4} << 20U, max_read = std::uintmax_t{16} << 30U;

constexpr std::array<std::string_view, 13> endings{".txt", ".log",    ".out", ".err",  ".gz",    ".stdout", ".stderr",
                                                   ".zst", ".pickle", ".pkl", ".json", ".jsonl", ".dump"};

/// A log by its name: not hidden, and no picture, source or table.
bool may_be_log(const fs::path& file) {
  const std::string name = file.filename().string(), extension = file.extension().string();
  if (name.empty() || name.front() == '.') return false;
  if (extension.empty() || std::find(endings.begin(), endings.end(), extension) != endings.end()) return true;
  return extension.find_first_not_of("0123456789", 1) == std::string::npos;  // of a rank: worker.3
}

/// A log of lines by its name, whose repetitions say nothing: no table of points.
bool may_be_condensed(fs::path file) {
  if (file.extension() == ".gz" || file.extension() == ".zst") file = file.stem();
  const std::string extension = file.extension().string();
  return extension != ".csv" && extension != ".json" && extension != ".xml";
}

/// Words that tell a dump from any other JSON.
bool may_be_dump(std::string_view head) {
  const auto start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || (head[start] != '{' && head[start] != '[')) return false;
  for (const char* word : {"\"entries\"", "\"pg_config\"", "\"pg_status\"", "\"coll_perf\"", "\"p2p_perf\"", "\"communicators\""})
    if (head.find(word) != std::string_view::npos) return true;
  return false;
}

std::string first_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string out(4096, '\0');
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

/// A folder's JSON and pickles are read if they are dumps: the others are settings and tables.
bool is_other_data(const fs::path& file) {
  const std::string extension = file.extension().string();
  if (extension != ".json" && extension != ".jsonl" && extension != ".pickle" && extension != ".pkl" && extension != ".dump") return false;
  const std::string head = first_bytes(file);
  return !is_pickle(head) && !may_be_dump(head);
}

std::vector<fs::path> logs_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && may_be_log(at->path()) && !is_other_data(at->path()) && out.size() < max_logs)
      out.push_back(at->path());
  }
  std::sort(out.begin(), out.end());
  if (out.empty())
    throw fault_of_file(folder.string(), "there is no log in this folder",
                            "logs end in .txt, .log, .out, .err, .gz or .zst, dumps in .pickle or .json, or either in nothing");
  return out;
}

/// Read as it is: a file of its own that is short, not packed and no dump.
bool is_plain(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return true;  // the reader of lines says what it is
  if (fs::file_size(file, ignored) > short_log && may_be_condensed(file)) return false;
  const std::string head = first_bytes(file);
  if (head.starts_with("\x1F\x8B") || head.starts_with("\x28\xB5\x2F\xFD") || head.starts_with('\x80')) return false;
  const auto start = head.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos || (head[start] != '{' && head[start] != '[');
}

/// The rest of a source behind its head.
void read_whole(ByteSource& source, std::string& head) {
  for (std::size_t size = head.size();;) {
    if (size > longest_dump) throw fault_of_file(source.name(), "is a dump of more than 256 MiB", "dump fewer entries");
    head.resize(size + block);
    const std::size_t count = source.read(head.data() + size, block);
    size += count;
    if (count == 0) {
      head.resize(size);
      return;
    }
  }
}

}  // namespace

Inputs::Inputs(const std::vector<fs::path>& given) {
  try {
    std::vector<fs::path> logs;
    std::error_code ignored;
    for (const fs::path& one : given) {
      if (one != "-" && fs::is_directory(one, ignored))
        for (fs::path& log : logs_in(one)) logs.push_back(std::move(log));
      else
        logs.push_back(one);
    }
    const bool folder = given.size() == 1 && given.front() != "-" && fs::is_directory(given.front(), ignored);
    const bool several = logs.size() > 1 || folder;
    const fs::path& only = logs.front();
    name_ = given.size() != 1 ? fmt::format("{} files", logs.size()) : given.front() == "-" ? "standard input" : given.front().string();
    if (!several && only.extension() == ".nsys-rep")
      throw fault_of_file(only.string(), "is a report of Nsight Systems, which only its own tools read",
                          fmt::format("nsys export --type sqlite {}, then diagnose the .sqlite", only.string()));
    if (!several && only != "-" && is_plain(only)) {
      file_ = only;
      return;
    }
    const fs::path inner = only.extension() == ".gz" || only.extension() == ".zst" ? only.stem() : only;
    condensed_ = several || only == "-" || may_be_condensed(only);
    make(several || inner.extension().empty() || inner.extension() == ".pickle" ? ".txt" : inner.extension().string());
    bool any = false;
    std::map<fs::path, int> names;
    for (const fs::path& log : logs) ++names[log.filename()];
    for (const fs::path& log : logs) {
      const std::string name = folder                                          ? log.lexically_relative(given.front()).string()
                               : log == "-" || names.at(log.filename()) > 1 ? log.string()
                                                                               : log.filename().string();
      try {
        take(log, name, several ? fmt::format("{}{}", file_mark, plain_text(name)) : std::string{});
        any = true;
      } catch (const SpecError& error) {
        if (!folder) throw;
        left_out_.push_back(fmt::format("{}: {}", name, error.issues().front().message));
      }
    }
    if (!any) throw fault_of_file(name_, "none of its files can be read", left_out_.front());
    condenser_.finish();
    out_.close();
    file_ = made_.front();
  } catch (...) {
    clear();
    throw;
  }
}

Inputs::~Inputs() { clear(); }

void Inputs::clear() {
  std::error_code ignored;
  for (const fs::path& one : made_) fs::remove(one, ignored);
}

void Inputs::make(const std::string& extension) {
  std::string name = (fs::temp_directory_path() / ("fabricost-XXXXXX" + extension)).string();
  const int file = mkstemps(name.data(), static_cast<int>(extension.size()));
  if (file < 0)
    throw fault_of_file(name, std::string{"cannot be written: "} + std::strerror(errno), "set TMPDIR to a folder you may write");
  close(file);
  made_.emplace_back(name);
  out_.open(name, std::ios::binary);
}

void Inputs::write(std::string_view text) {
  written_ += text.size();
  if (written_ > LineReader::largest_file)
    throw fault_of_file(name_, "is larger than 2 GiB", "keep the lines with messages, for example with grep");
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out_) throw fault_of_file(name_, "cannot be copied: there is no room for temporary files", "set TMPDIR to a folder that has it");
}

void Inputs::line(std::string_view text) {
  if (condensed_) {
    condenser_.line(text);
    return;
  }
  write(text);
  write("\n");
}

void Inputs::take(const fs::path& log, const std::string& name, const std::string& mark) {
  ByteSource source(log);
  std::string head(block, '\0');
  std::size_t size = 0;
  for (std::size_t count = 1; count > 0 && size < head.size(); size += count) count = source.read(head.data() + size, head.size() - size);
  head.resize(size);
  if (source.cut() && size == 0) throw fault_of_file(log.string(), "is packed, and damaged or cut from its start", "unpack it by hand");
  if (!mark.empty()) condenser_.mark(mark);
  if (!take_dump(source, head, name)) take_lines(source, head, log.string());
  if (source.cut()) left_out_.push_back(fmt::format("{}: the packed file is cut; what came before was read", name));
}

void Inputs::take_lines(ByteSource& source, std::string& head, const std::string& name) {
  std::string buffer = std::move(head);
  std::size_t size = buffer.size(), begin = 0, checked = 0;
  int number = 0;
  bool zeros = false;  // searched in whole blocks, since a search in each line takes longer
  const auto fault = [&](std::string message, std::string remedy) {
    throw SpecError({fault_in_line(name, number + 1, 1, "", std::move(message), std::move(remedy))});
  };
  const std::string_view start = std::string_view{buffer}.substr(0, size);
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF"))
    fault("the file is UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE");
  if (start.starts_with("\xEF\xBB\xBF")) begin = 3;
  for (;;) {
    read_ += size - checked;
    zeros = zeros || std::memchr(buffer.data() + checked, '\0', size - checked) != nullptr;
    if (read_ > max_read) throw fault_of_file(name_, "holds more than 16 GiB", "name the logs of some ranks");
    while (begin < size) {
      const char* const from = buffer.data() + begin;
      const auto* const end = static_cast<const char*>(std::memchr(from, '\n', size - begin));
      if (end == nullptr) break;
      std::string_view text{from, static_cast<std::size_t>(end - from)};
      if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
      if (text.size() > LineReader::longest_line) text.remove_prefix(LineReader::last_state(text));
      if (text.size() > LineReader::longest_line) fault("the line is longer than 1 MiB", "this is neither a table nor a log");
      if (zeros && std::memchr(text.data(), '\0', text.size()) != nullptr)
        fault("there is a zero byte: the file is not text", "unpack or export it first");
      line(text);
      ++number;
      begin += static_cast<std::size_t>(end - from) + 1;
    }
    if (size - begin > LineReader::longest_line) {
      const std::size_t shown = LineReader::last_state(std::string_view{buffer}.substr(begin, size - begin));
      if (shown == 0) fault("the line is longer than 1 MiB", "this is neither a table nor a log");
      begin += shown;
    }
    buffer.erase(0, begin);
    size -= begin;
    begin = 0;
    checked = size;
    ask_to_go_on();
    buffer.resize(size + block);
    const std::size_t count = source.read(buffer.data() + size, block);
    size += count;
    buffer.resize(size);
    if (count == 0) break;
  }
  if (size == 0) return;
  if (buffer.find('\0') != std::string::npos) fault("there is a zero byte: the file is not text", "unpack or export it first");
  line(buffer);
}

bool Inputs::take_dump(ByteSource& source, std::string& head, const std::string& name) {
  const bool pickle = is_pickle(head);
  if (!pickle && !may_be_dump(head)) return false;
  read_whole(source, head);
  if (pickle) {
    const PlainTree tree = read_pickle(head, name);
    if (!is_flight_dump(tree)) throw fault_of_file(name, "is a pickle, but no dump of PyTorch's flight recorder", "");
    line(add_flight_dump(tree, name, dumps_.flights));
    return true;
  }
  std::size_t next = 0, records = 0;
  while (head.find_first_not_of(" \t\r\n", next) != std::string::npos) {
    PlainTree tree;
    try {
      tree = read_json_value(head, next, name);
    } catch (const SpecError& error) {
      if (records == 0) throw;
      left_out_.push_back(fmt::format("{}: its end, {}", name, error.issues().front().message));
      break;
    }
    if (is_flight_dump(tree)) {
      line(add_flight_dump(tree, name, dumps_.flights));
    } else if (is_ras_report(tree)) {
      std::string lines = ras_lines(tree);
      for (std::size_t at = 0, end = 0; (end = lines.find('\n', at)) != std::string::npos; at = end + 1)
        line(std::string_view{lines}.substr(at, end - at));
    } else {
      const auto& list = tree.items(tree.root);
      const bool one = is_inspector_record(tree, tree.root);
      if (!one && (list.empty() || !is_inspector_record(tree, list.front()))) return false;
      if (one) add_inspector_record(tree, tree.root, name, dumps_.inspected);
      for (const PlainTree::Id record : list) add_inspector_record(tree, record, name, dumps_.inspected);
      records += one ? 1 : list.size();
    }
  }
  if (records > 0) line(fmt::format("NCCL Inspector: {} records", records));
  return true;
}

}  // namespace fabricost::observe::diagnosis
