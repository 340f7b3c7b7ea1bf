#pragma once
/// \file sqlite_file.hpp
/// A database of SQLite, opened for reading alone: nothing is written beside it, and nothing that it holds is run.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace fabricost::observe {

class SqliteFile {
 public:
  /// \throws SpecError when it cannot be opened
  explicit SqliteFile(const std::filesystem::path& file);

  /// Whether it has a table of that name, with that column if one is named; views do not count.
  [[nodiscard]] bool has(std::string_view table, std::string_view column = {}) const;
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The rows of a question, as in `for (Rows rows{file, "SELECT ..."}; rows.next();) use(rows.whole(0));`.
  class Rows {
   public:
    Rows(const SqliteFile& file, const std::string& question);
    /// \throws SpecError where the database is damaged
    [[nodiscard]] bool next();
    [[nodiscard]] std::int64_t whole(int column) const;
    [[nodiscard]] std::string_view text(int column) const;  ///< also bytes; until the next row
   private:
    const SqliteFile& file_;
    std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
  };

 private:
  [[noreturn]] void fail() const;

  std::string name_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
  std::set<std::string, std::less<>> columns_;  ///< "table" and "table.column"
};

}  // namespace fabricost::observe
