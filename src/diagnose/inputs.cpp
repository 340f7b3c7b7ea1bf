/// \file inputs.cpp
/// Makes one file of what was given. Packed files are recognised by their first bytes, not by their name.

#include "diagnose/inputs.hpp"

#include "readings/logs/nccl_info.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <system_error>

namespace fabricost::diagnosis {

namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_logs = 65536, block = std::size_t{1} << 16U;

enum class Packing : unsigned char { none, gzip, zstd };

Packing packing_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, 4> first{};
  in.read(first.data(), first.size());
  const std::string_view head{first.data(), static_cast<std::size_t>(in.gcount())};
  if (head.starts_with("\x1F\x8B")) return Packing::gzip;
  if (head == "\x28\xB5\x2F\xFD") return Packing::zstd;
  return Packing::none;
}

/// A log by its name: not hidden, and no picture, source or table.
bool may_be_log(const fs::path& file) {
  const std::string name = file.filename().string(), extension = file.extension().string();
  if (name.empty() || name.front() == '.') return false;
  constexpr std::array<std::string_view, 8> endings{".txt", ".log", ".out", ".err", ".gz", ".stdout", ".stderr", ".zst"};
  if (extension.empty() || std::find(endings.begin(), endings.end(), extension) != endings.end()) return true;
  return extension.find_first_not_of("0123456789", 1) == std::string::npos;  // of a rank: worker.3
}

std::vector<fs::path> logs_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && may_be_log(at->path()) && out.size() < most_logs) out.push_back(at->path());
  }
  std::sort(out.begin(), out.end());
  if (out.empty())
    throw io::fault_of_file(folder.string(), "there is no log in this folder", "logs end in .txt, .log, .out, .err or .gz, or in nothing");
  return out;
}

void write_all(std::ofstream& out, const char* data, std::size_t size, std::uintmax_t& written, const std::string& name) {
  written += size;
  if (written > io::LineReader::largest_file)
    throw io::fault_of_file(name, "is larger than 2 GiB", "keep the lines with messages, for example with grep");
  out.write(data, static_cast<std::streamsize>(size));
  if (!out) throw io::fault_of_file(name, "cannot be copied: there is no room for temporary files", "set TMPDIR to a folder that has it");
}

}  // namespace

Inputs::Inputs(const std::vector<fs::path>& given) {
  try {
    std::vector<fs::path> logs;
    for (const fs::path& one : given) {
      std::error_code ignored;
      if (one == "-")
        logs.push_back(spooled());
      else if (fs::is_directory(one, ignored))
        for (fs::path& log : logs_in(one)) logs.push_back(std::move(log));
      else
        logs.push_back(one);
    }
    std::error_code ignored;
    const bool folder = given.size() == 1 && fs::is_directory(given.front(), ignored);
    name_ = given.size() != 1 ? fmt::format("{} files", logs.size()) : given.front() == "-" ? "standard input" : given.front().string();
    if (logs.size() > 1 || folder) {
      join(logs, folder ? given.front() : fs::path{});
    } else {
      file_ = unpacked(logs.front());
    }
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

fs::path Inputs::make(const std::string& extension) {
  std::string name = (fs::temp_directory_path() / ("fabricost-XXXXXX" + extension)).string();
  const int file = mkstemps(name.data(), static_cast<int>(extension.size()));
  if (file < 0)
    throw io::fault_of_file(name, std::string{"cannot be written: "} + std::strerror(errno), "set TMPDIR to a folder you may write");
  close(file);
  made_.emplace_back(name);
  return made_.back();
}

fs::path Inputs::spooled() {
  const std::string name = "standard input";
  if (isatty(STDIN_FILENO) == 1)
    throw io::fault_of_file(name, "is a terminal", "pipe a log into it: kubectl logs ... | fabricost diagnose -");
  const fs::path to = make(".txt");
  std::ofstream out(to, std::ios::binary);
  std::array<char, block> buffer{};
  std::uintmax_t written = 0;
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw io::fault_of_file(name, std::string{"cannot be read: "} + std::strerror(errno), "");
    if (count == 0) break;
    write_all(out, buffer.data(), static_cast<std::size_t>(count), written, name);
  }
  return to;
}

fs::path Inputs::unpacked(const fs::path& packed) {
  std::error_code ignored;
  if (!fs::is_regular_file(packed, ignored)) return packed;  // the reader of lines says what it is
  const Packing packing = packing_of(packed);
  const std::string name = packed.string();
  if (packing == Packing::none) return packed;
  if (packing == Packing::zstd) throw io::fault_of_file(name, "is packed by zstd", "zstd -dc FILE | fabricost diagnose -");
  const fs::path inner = packed.stem();
  const fs::path to = make(inner.extension().empty() || packed.extension() != ".gz" ? ".txt" : inner.extension().string());
  std::ofstream out(to, std::ios::binary);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(name.c_str(), "rb"), gzclose);
  if (!in) throw io::fault_of_file(name, "cannot be read", "name a file that you may read");
  std::array<char, block> buffer{};
  std::uintmax_t written = 0;
  int count = 0;
  while ((count = gzread(in.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0)
    write_all(out, buffer.data(), static_cast<std::size_t>(count), written, name);
  if (count < 0 && written == 0) throw io::fault_of_file(name, "is no whole gzip file", "unpack it by hand, and name what came out");
  if (count < 0) left_out_.push_back(fmt::format("{}: the packed file is cut; what came before was read", packed.filename().string()));
  return to;
}

void Inputs::join(const std::vector<fs::path>& logs, const fs::path& root) {
  const fs::path to = make(".txt");
  std::ofstream out(to, std::ios::binary);
  std::uintmax_t written = 0;
  bool any = false;
  for (const fs::path& log : logs) {
    const std::string name = root.empty() ? log.filename().string() : log.lexically_relative(root).string();
    try {
      io::LineReader lines(unpacked(log));
      std::string line = fmt::format("{}{}\n", io::file_mark, io::plain_text(name));
      write_all(out, line.data(), line.size(), written, log.string());
      while (lines.next(line)) {
        line += '\n';
        write_all(out, line.data(), line.size(), written, log.string());
      }
      any = true;
    } catch (const SpecError& error) {
      if (root.empty()) throw;
      left_out_.push_back(fmt::format("{}: {}", name, error.issues().front().message));
    }
  }
  out.close();
  if (!any) throw io::fault_of_file(root.string(), "none of its files can be read", left_out_.front());
  file_ = to;
}

}  // namespace fabricost::diagnosis
