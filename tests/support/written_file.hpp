#pragma once
/// A file with a text, in a folder of its own that is removed with the object.

#include "support/folder.hpp"

namespace fabricost::test {

class WrittenFile {
 public:
  explicit WrittenFile(std::string_view text, std::string_view name = "file.csv") : path_(folder_.write(name, text)) {}
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  support::Folder folder_;
  std::filesystem::path path_;
};

}  // namespace fabricost::test
