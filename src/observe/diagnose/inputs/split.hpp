#pragma once
/// Several tests in one log, or in one folder: those that differ in their operation, GPUs, ranks or nodes, or whose times
/// are no repeats of each other, are told apart, so that none is judged by another's table or lines. Tables of two files
/// are repetitions of one run only where their times agree. Private.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::observe::diagnosis {

/// One test, with its repeats.
struct Test {
  std::string operation;              ///< as in all_reduce_perf; empty: not said
  std::set<std::string> gpus, hosts;  ///< of the list of ranks
  int ranks = 0;                      ///< listed; 0: none
  int tables = 0;
  std::string file;                          ///< where it begins, of several; empty: of one
  int line = 0;                              ///< of its first line there
  std::string said{};                        ///< the command or heading before its table; empty: none
  std::map<double, double> times{};          ///< of each size of its table
  std::vector<std::pair<int, int>> spans{};  ///< first and last line, counted over all files
  std::vector<std::string> repeats{};        ///< further files with a table of the same run
  /// "all_reduce, 16 ranks on 2 nodes (line 12)"
  [[nodiscard]] std::string title() const;
  /// "line 12", "a.log"
  [[nodiscard]] std::string place() const;
  /// "; a.log and b.log repeat one run and are judged by their medians"; empty: one file has it.
  [[nodiscard]] std::string repeated() const;
};

/// The tests of a log (diagnose/inputs/inputs.hpp), in their order; lines that belong to none are left to a test of their own where there
/// are two or more.
/// \throws SpecError when the file is not readable as text
[[nodiscard]] std::vector<Test> different_tests(const std::filesystem::path& log);

/// A file with the lines of one test, under their own numbers; removed at the end of its scope.
class PartOfLog {
 public:
  PartOfLog(const std::filesystem::path& log, const Test& test);
  PartOfLog(const PartOfLog&) = delete;
  PartOfLog& operator=(const PartOfLog&) = delete;
  ~PartOfLog();
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path folder_, file_;
};

}  // namespace fabricost::observe::diagnosis
