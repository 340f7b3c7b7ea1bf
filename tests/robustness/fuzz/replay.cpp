// Every kept input through its target once, without a fuzzer: `fuzz_replay FOLDER...`, each FOLDER holding a folder per target; or
// `fuzz_replay --list`, `fuzz_replay TARGET FILE...`. An input may take 5 s of processor time and the program 1 GB of memory. What goes
// beyond, or crashes, is named last on stderr.
#include "targets.hpp"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#if defined(__has_feature)
#define FUZZ_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define FUZZ_ADDRESS_SANITIZER 0
#endif

namespace {

namespace fs = std::filesystem;

constexpr int seconds_of_one_input = 5;

// The input being replayed, for handlers that may not allocate.
char current[512];

void say_which(const char* what) {
  (void)!write(STDERR_FILENO, current, std::strlen(current));
  (void)!write(STDERR_FILENO, what, std::strlen(what));
}
void too_slow(int) {
  say_which(": takes more than 5 s\n");
  _exit(1);
}
void broken(int signal) {
  say_which(": ends the program\n");
  std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
}

void limit_time(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  (void)setitimer(ITIMER_PROF, &timer, nullptr);
}

/// Address space rather than resident pages, which Linux does not limit; sanitizers need far more of it than they use.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !FUZZ_ADDRESS_SANITIZER
  const rlim_t gigabyte = rlim_t{1} << 30U;
  const rlimit limit{gigabyte, gigabyte};
  (void)setrlimit(RLIMIT_AS, &limit);
#endif
}

void replay(const fuzz::Target& target, const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
    std::exit(1);
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::snprintf(current, sizeof current, "%s", file.c_str());
  limit_time(seconds_of_one_input);
  try {
    target.run(bytes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), error.what());
    std::exit(1);
  }
  limit_time(0);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.is_regular_file()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// A folder with a name of no target would never be replayed.
bool all_are_targets(const fs::path& folder) {
  bool fine = true;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (fuzz::target_named(entry.path().filename().string()) == nullptr) {
      std::fprintf(stderr, "%s: no such target\n", entry.path().c_str());
      fine = false;
    }
  return fine;
}

int replay_all(const std::vector<fs::path>& folders) {
  bool fine = std::all_of(folders.begin(), folders.end(), all_are_targets);
  int inputs = 0, targets = 0;
  fuzz::for_each_target([&](const fuzz::Target& target) {
    int own = 0;
    for (const fs::path& folder : folders)
      for (const fs::path& file : files_in(folder / target.name)) {
        replay(target, file);
        ++own;
      }
    if (own == 0) {
      std::fprintf(stderr, "%s: there is no input for it\n", target.name);
      fine = false;
    }
    inputs += own;
    ++targets;
  });
  std::printf("%d inputs through %d targets\n", inputs, targets);
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments.front() == "--list") {
    fuzz::for_each_target([](const fuzz::Target& target) { std::printf("%s\n", target.name); });
    return arguments.empty() ? 2 : 0;
  }
  limit_memory();
  std::signal(SIGPROF, too_slow);
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, broken);
  if (const fuzz::Target* target = fuzz::target_named(arguments.front())) {
    for (std::size_t i = 1; i < arguments.size(); ++i) replay(*target, arguments[i]);
    return 0;
  }
  return replay_all({arguments.begin(), arguments.end()});
}
