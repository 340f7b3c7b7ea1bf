/// \file sqlite_file.cpp
/// The library is told to distrust the file: no functions of its schema run, and queries name only tables.

#include "readings/traces/nsys/sqlite_file.hpp"

#include "text/files_read.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <sqlite3.h>

namespace fabricost::observe {

namespace {

/// file:PATH with characters that are special in a URI escaped; immutable: no lock, no journal beside it.
[[nodiscard]] std::string uri_of(const std::filesystem::path& file) {
  std::string out = "file:";
  for (const char c : std::filesystem::absolute(file).string())
    if (c == '%' || c == '?' || c == '#')
      out += fmt::format("%{:02X}", static_cast<unsigned>(c));
    else
      out += c;
  return out + "?immutable=1";
}

[[nodiscard]] sqlite3* opened(const std::filesystem::path& file) {
  note_regular_file(file);
  sqlite3* out = nullptr;
  sqlite3_open_v2(uri_of(file).c_str(), &out, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  return out;
}

}  // namespace

SqliteFile::SqliteFile(const std::filesystem::path& file) : name_(file.string()), database_(opened(file), sqlite3_close) {
  if (database_ == nullptr || sqlite3_errcode(database_.get()) != SQLITE_OK) fail();
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  constexpr int longest = 1 << 26;
  sqlite3_limit(database_.get(), SQLITE_LIMIT_LENGTH, longest);
  Rows rows(*this,
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.sql NOT LIKE "
            "'CREATE VIRTUAL%'");
  while (rows.next()) {
    const std::string table{rows.text(0)};
    columns_.insert(table);
    columns_.insert(table + "." + std::string{rows.text(1)});
  }
}

void SqliteFile::fail() const {
  throw fault_of_file(
      name_, fmt::format("SQLite cannot read it: {}", plain_text(database_ == nullptr ? "no memory" : sqlite3_errmsg(database_.get()))),
      "export it again as SQLite");
}

bool SqliteFile::has(std::string_view table, std::string_view column) const {
  if (column.empty()) return columns_.contains(table);
  return columns_.contains(fmt::format("{}.{}", table, column));
}

SqliteFile::Rows::Rows(const SqliteFile& file, const std::string& question) : file_(file), statement_(nullptr, sqlite3_finalize) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(file.database_.get(), question.c_str(), -1, &statement, nullptr) != SQLITE_OK) file.fail();
  statement_.reset(statement);
}

bool SqliteFile::Rows::next() {
  const int done = sqlite3_step(statement_.get());
  if (done != SQLITE_ROW && done != SQLITE_DONE) file_.fail();
  return done == SQLITE_ROW;
}

std::int64_t SqliteFile::Rows::whole(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string_view SqliteFile::Rows::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr || size <= 0 ? std::string_view{}
                                       : std::string_view{static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

}  // namespace fabricost::observe
