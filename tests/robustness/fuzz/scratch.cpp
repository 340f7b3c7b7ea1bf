// The folder of one process, and inputs that stand for two files.
#include "scratch.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace fuzz {

namespace fs = std::filesystem;

Scratch& Scratch::folder() {
  static Scratch only;
  return only;
}

Scratch::Scratch() {
  const fs::path memory{"/dev/shm"};
  std::error_code error;
  const fs::path base = fs::is_directory(memory, error) && access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
  path_ = base / ("fabricost-fuzz-" + std::to_string(getpid()));
  fs::create_directories(path_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path Scratch::write(std::string_view name, std::string_view bytes) const {
  const fs::path file = path_ / name;
  std::FILE* out = std::fopen(file.c_str(), "wb");
  if (out == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size() || std::fclose(out) != 0) {
    std::fprintf(stderr, "cannot write %s\n", file.c_str());
    std::exit(1);
  }
  return file;
}

void Scratch::remove(std::string_view name) const {
  std::error_code ignored;
  fs::remove(path_ / name, ignored);
}

Halves halves(std::string_view bytes, std::string_view mark) {
  for (std::size_t at = bytes.find(mark); at != std::string_view::npos; at = bytes.find(mark, at + 1)) {
    const std::size_t after = at + mark.size();
    const bool alone = (at == 0 || bytes[at - 1] == '\n') && (after == bytes.size() || bytes[after] == '\n');
    if (alone) return {bytes.substr(0, at), after == bytes.size() ? std::string_view{} : bytes.substr(after + 1)};
  }
  return {bytes, {}};
}

}  // namespace fuzz
