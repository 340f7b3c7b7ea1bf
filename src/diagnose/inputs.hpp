#pragma once
/// \file inputs.hpp
/// What an operator has in hand: a log, a packed log (.gz), standard input ("-"), several logs of one job, a folder of them. The readers of
/// logs take one file and pass over it several times: anything else is written to one temporary file, in which a line with io::file_mark
/// starts every log. Private.

#include <filesystem>
#include <string>
#include <vector>

namespace fabricost::diagnosis {

class Inputs {
 public:
  /// \throws SpecError for a file that cannot be read, or a folder without logs
  explicit Inputs(const std::vector<std::filesystem::path>& given);
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  ~Inputs();

  /// One file with all lines.
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// What was given, in words, for messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool temporary() const { return !made_.empty(); }
  /// Logs that were left out, with the reason.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  std::filesystem::path make(const std::string& extension);
  std::filesystem::path unpacked(const std::filesystem::path& packed);
  std::filesystem::path spooled();
  void join(const std::vector<std::filesystem::path>& logs, const std::filesystem::path& root);
  void clear();

  std::filesystem::path file_;
  std::string name_;
  std::vector<std::filesystem::path> made_;
  std::vector<std::string> left_out_;
};

}  // namespace fabricost::diagnosis
