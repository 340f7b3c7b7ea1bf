#pragma once
/// A file with a text, removed with the object.

#include <filesystem>
#include <fstream>
#include <string>

namespace fabricost::test {

class WrittenFile {
 public:
  explicit WrittenFile(const std::string& text, const std::string& name) : path_(std::filesystem::temp_directory_path() / name) {
    std::ofstream(path_) << text;
  }
  ~WrittenFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fabricost::test
