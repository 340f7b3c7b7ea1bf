// The command line: an argument a line, then, behind a line "=====", the text of the file that an argument FILE stands for. The command
// runs in this process; what it would write to a file goes nowhere.
#include "scratch.hpp"
#include "targets.hpp"

#include "text/write_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#define main fabricost_main
#include "cli/main.cpp"  // NOLINT(bugprone-suspicious-include): the command's own main, under another name
#undef main

// Linked in place of src/core/text/write_file.cpp.
void fabricost::core::write_file(const std::string& /*target*/, const std::string& /*text*/, std::string_view /*option*/) {}
void fabricost::core::write_fitted(const std::string& /*target*/, const std::string& /*text*/, std::string_view /*option*/) {}

namespace fuzz {

namespace {

constexpr std::size_t max_arguments = 40;

/// stdout or stderr, kept in memory while it lives.
class Captured {
 public:
  explicit Captured(FILE*& stream) : stream_(&stream), before_(stream) { stream = open_memstream(&text_, &size_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() { (void)text(), std::free(text_); }
  /// The captured text; ends the capture.
  std::string_view text() {
    if (before_ != nullptr) {
      std::fclose(*stream_);
      *stream_ = before_;
      before_ = nullptr;
    }
    return {text_, size_};
  }

 private:
  FILE** stream_;
  FILE* before_;
  char* text_ = nullptr;
  std::size_t size_ = 0;
};

std::vector<std::string> arguments_in(std::string_view bytes, const std::string& file) {
  std::vector<std::string> out{"fabricost"};
  while (!bytes.empty() && out.size() < max_arguments) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string one{bytes.substr(0, end)};
    one.resize(std::strlen(one.c_str()));  // an argument ends at a zero byte
    if (const auto at = one.find("FILE"); at != std::string::npos) one.replace(at, 4, file);
    out.push_back(std::move(one));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return out;
}

/// Paths lead into this machine's files, which the fuzzer must not read. `calibrate -o` makes folders.
bool harmless(const std::vector<std::string>& arguments, const std::string& file) {
  const bool calibrates = std::find(arguments.begin(), arguments.end(), "calibrate") != arguments.end();
  return std::all_of(arguments.begin(), arguments.end(), [&](const std::string& one) {
    const bool path = one.find('/') != std::string::npos && one.find(file) == std::string::npos;
    return !path && !(calibrates && (one.starts_with("-o") || one.starts_with("--o")));
  });
}

void command(std::string_view bytes) {
  const Halves given = halves(bytes);
  const std::string file = Scratch::folder().write("file.txt", given.second).string();
  std::vector<std::string> arguments = arguments_in(given.first, file);
  if (!harmless(arguments, file)) return;
  std::vector<char*> argv;
  for (std::string& one : arguments) argv.push_back(one.data());
  argv.push_back(nullptr);
  Captured out(stdout), err(stderr);
  const int status = fabricost_main(static_cast<int>(arguments.size()), argv.data());
  const std::string said{err.text()};
  const std::string printed{out.text()};
  require(status == 0 || status == 2, "the command ends with 0 or 2: " + said);
  require(status == 2 || (said.empty() && !printed.empty()), "what works prints, and complains of nothing: " + said);
  require(status == 0 || (printed.empty() && said.size() > 10), "what is refused prints nothing and says why");
}

constexpr std::array<Target, 1> command_list{{{"command", command}}};

}  // namespace

std::span<const Target> command_targets() { return command_list; }

}  // namespace fuzz
