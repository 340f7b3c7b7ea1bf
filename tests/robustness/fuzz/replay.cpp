// Every kept input through its target once, without a fuzzer: `fuzz_replay FOLDER...`, each FOLDER holding a folder per target; or
// `fuzz_replay --list`, which prints each target and the project's own files that are its inputs, and `fuzz_replay TARGET FILE...`. An input may take 5 s of processor time and the program 1 GB of memory. What goes
// beyond, or crashes, is named last on stderr.
//
// `fuzz_replay --changed COUNT SEED TARGET FOLDER...` makes COUNT inputs of the folders' files by random changes. It follows no branches as
// a fuzzer does, and in a plain build takes ten times as many inputs a second. Each input follows from its own number, SEED and up: what is
// named as broken comes again with `--changed 1 NUMBER`.
#include "targets.hpp"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
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

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs the input that `current` names.
void run(const fuzz::Target& target, const std::string& bytes) {
  try {
    target.run(bytes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", current, error.what());
    std::exit(1);
  }
}

void replay(const fuzz::Target& target, const fs::path& file) {
  const std::string bytes = content_of(file);
  std::snprintf(current, sizeof current, "%s", file.c_str());
  limit_time(seconds_of_one_input);
  run(target, bytes);
  limit_time(0);
}

/// One of the kept inputs with some changes: bits, bytes, numbers, pieces left out, doubled, or taken from another input.
std::string changed(const std::vector<std::string>& kept, std::uint64_t number) {
  std::mt19937_64 random(number);
  const auto below = [&](std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(random() % count); };
  constexpr std::size_t longest = 2048, max_changes = 6;
  static const std::vector<std::string> pieces{"0",   "-1",      "1e999", "99999999999999999999",
                                               "nan", "",        "\n",    "\t",
                                               " ",   ":",       "\xff",  "\x80",
                                               "]",   "[",       "{",     "}",
                                               "\"",  "\\u0000", ",",     "(",
                                               ")",   "N/A",     "\r\n",  "=",
                                               "<",   ">",       "#"};
  std::string out = kept[below(kept.size())];
  if (out.size() > longest) out = out.substr(below(out.size() - longest), longest);
  for (std::size_t left = 1 + below(max_changes); left > 0; --left) {
    const std::size_t at = below(out.size() + 1), length = std::min(out.size() - at, 1 + below(32));
    const std::string& other = kept[below(kept.size())];
    switch (below(7)) {
      case 0:
        if (at < out.size()) out[at] = static_cast<char>(out[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < out.size()) out[at] = static_cast<char>(below(256));
        break;
      case 2: out.erase(at, length); break;
      case 3: out.insert(at, out.substr(at, length)); break;
      case 4: out.replace(at, below(length + 1), pieces[below(pieces.size())]); break;
      case 5: out.insert(at, other.substr(below(other.size()), 1 + below(64))); break;
      default:
        if (below(4) == 0) out.resize(at);
        break;
    }
  }
  return out;
}

int run_changed(const fuzz::Target& target, std::uint64_t count, std::uint64_t seed, const std::vector<fs::path>& kept) {
  std::vector<std::string> inputs;
  for (const fs::path& file : kept) inputs.push_back(content_of(file));
  if (inputs.empty()) inputs.emplace_back();
  for (std::uint64_t i = 0; i < count; ++i) {
    limit_time(seconds_of_one_input);
    std::snprintf(current, sizeof current, "%s, changed input %llu", target.name, static_cast<unsigned long long>(seed + i));
    run(target, changed(inputs, seed + i));
  }
  limit_time(0);
  std::printf("%llu changed inputs through %s\n", static_cast<unsigned long long>(count), target.name);
  return 0;
}

/// The files of a folder, or a file itself.
std::vector<fs::path> files_in(const fs::path& folder) {
  if (fs::is_regular_file(folder)) return {folder};
  std::vector<fs::path> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.is_regular_file()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<fs::path> seeds_of(const fuzz::Target& target) {
  std::vector<fs::path> out;
  std::istringstream words(target.seeds);
  for (std::string word; words >> word;) {
    out.push_back(fs::path(FABRICOST_SOURCE_DIR) / word);
    fuzz::require(fs::exists(out.back()), "a target's seeds are there: " + word);
  }
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
    std::vector<fs::path> places = seeds_of(target);
    for (const fs::path& folder : folders) places.push_back(folder / target.name);
    for (const fs::path& place : places)
      for (const fs::path& file : files_in(place)) {
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
    fuzz::for_each_target([](const fuzz::Target& target) { std::printf("%s %s\n", target.name, target.seeds); });
    return arguments.empty() ? 2 : 0;
  }
  const bool changes = arguments.front() == "--changed";
  const fuzz::Target* wanted = changes && arguments.size() > 3 ? fuzz::target_named(arguments[3]) : nullptr;
  if (changes && wanted == nullptr) {
    std::fprintf(stderr, "fuzz_replay --changed COUNT SEED TARGET FOLDER...\n");
    return 2;
  }
  limit_memory();
  std::signal(SIGPROF, too_slow);
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, broken);
  if (changes) {
    std::vector<fs::path> kept;
    for (std::size_t i = 4; i < arguments.size(); ++i)
      for (fs::path& file : files_in(arguments[i])) kept.push_back(std::move(file));
    return run_changed(*wanted, std::strtoull(arguments[1].c_str(), nullptr, 10), std::strtoull(arguments[2].c_str(), nullptr, 10), kept);
  }
  if (const fuzz::Target* target = fuzz::target_named(arguments.front())) {
    for (std::size_t i = 1; i < arguments.size(); ++i) replay(*target, arguments[i]);
    return 0;
  }
  return replay_all({arguments.begin(), arguments.end()});
}
