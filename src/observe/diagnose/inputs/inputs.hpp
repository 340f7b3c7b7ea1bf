#pragma once
/// The inputs of a diagnosis: a log, a packed log (.gz, .zst), standard input ("-"), several logs of one job, a folder of them, dumps of
/// the flight recorder, of RAS and of Inspector. The readers of logs take one file and pass over it several times: anything but a single
/// short log is written to one temporary file, condensed, in which a line with file_mark starts every log. Private.

#include "diagnose/inputs/condense.hpp"
#include "readings/dumps/flight_recorder.hpp"
#include "readings/dumps/inspector.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {
class ByteSource;
}

namespace fabricost::observe::diagnosis {

/// The content of single ranks' dumps beside their lines.
struct Dumps {
  FlightDumps flights;
  Inspected inspected;
};

class Inputs {
 public:
  /// \throws SpecError for a file that cannot be read, or a folder without logs
  explicit Inputs(const std::vector<std::filesystem::path>& given);
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  ~Inputs();

  /// One file with all lines.
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// A description of the inputs, for messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool temporary() const { return !made_.empty(); }
  [[nodiscard]] const Dumps& dumps() const { return dumps_; }
  /// Logs that were left out, with the reason.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  void make(const std::string& extension);
  void write(std::string_view text);
  /// \param mark the line before its first one; empty: none
  void take(const std::filesystem::path& log, const std::string& name, const std::string& mark);
  void take_lines(ByteSource& source, std::string& head, const std::string& name);
  /// \return true if it is a dump, or several
  [[nodiscard]] bool take_dump(ByteSource& source, std::string& head, const std::string& name);
  void line(std::string_view text);
  void clear();

  std::filesystem::path file_;
  std::string name_;
  std::vector<std::filesystem::path> made_;
  std::vector<std::string> left_out_;
  Dumps dumps_;
  std::ofstream out_;
  std::uintmax_t read_ = 0, written_ = 0;
  bool condensed_ = true;
  Condenser condenser_{[this](std::string_view text) { write(text); }};
};

}  // namespace fabricost::observe::diagnosis
