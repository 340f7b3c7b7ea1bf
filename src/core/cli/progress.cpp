/// A bar of 24 cells, the current task, and the time left.

#include "cli/progress.hpp"

#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fabricost::cli {
namespace {

constexpr int bar_cells = 24;
constexpr std::chrono::milliseconds redrawn{100};
constexpr std::chrono::seconds plain_lines{5};

[[nodiscard]] bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && !(kind != nullptr && std::strcmp(kind, "dumb") == 0);
}

[[nodiscard]] std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

[[nodiscard]] std::string left_text(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return whole >= 60 ? fmt::format("{}:{:02} min left", whole / 60, whole % 60) : fmt::format("{} s left", whole);
}

struct Searches {
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  long long done = 0, all = 0;
  ProgressLine line{false};
};
[[nodiscard]] Searches& searches() {
  static Searches one;
  return one;
}

void draw() {
  constexpr double silent = 0.5;  // s
  Searches& now = searches();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - now.begun).count();
  if (seconds < silent) return;
  if (now.done == 0) return now.line.show("searching", -1, seconds);
  const double share = static_cast<double>(now.done) / static_cast<double>(now.all);
  now.line.show(fmt::format("{} of {}", now.done, now.all), share, seconds * (1 - share) / share);
}

void count(long long done, long long all) {
  searches().done = done;
  searches().all = all;
  draw();
}

/// Searches call this up to a million times a second, which the clock would slow down.
void tick() {
  constexpr unsigned between = 64;
  static unsigned ticks = 0;
  if (++ticks % between == 0) draw();
}

}  // namespace

SearchProgress::SearchProgress() : counted_(is_terminal() ? count : nullptr), ticks_(is_terminal() ? tick : nullptr) { (void)searches(); }
SearchProgress::~SearchProgress() { searches().line.end(); }

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(is_terminal()) {}
ProgressLine::~ProgressLine() { end(); }

void ProgressLine::show(const std::string& now, double done, double left) {
  if (quiet_) return;
  const auto time = std::chrono::steady_clock::now();
  if (drawn_ && time - last_ < (terminal_ ? std::chrono::nanoseconds{redrawn} : std::chrono::nanoseconds{plain_lines})) return;
  last_ = time;
  drawn_ = true;
  if (!terminal_) {
    fmt::print(stderr, "{:3.0f} %, {}: {}\n", 100 * done, left_text(left), plain_text(now));
    return;
  }
  if (done < 0) {
    fmt::print(stderr, "\r{}, {:.0f} s\033[K", plain_text(now), left);
    (void)std::fflush(stderr);
    return;
  }
  const int full = std::clamp(static_cast<int>(std::lround(bar_cells * done)), 0, bar_cells);
  std::string line =
      fmt::format("[{}{}] {:3.0f} %  {}  {}", std::string(static_cast<std::size_t>(full), '#'),
                  std::string(static_cast<std::size_t>(bar_cells - full), '.'), 100 * done, left_text(left), plain_text(now));
  line.resize(std::min(line.size(), columns() - 1));
  fmt::print(stderr, "\r{}\033[K", line);
  (void)std::fflush(stderr);
}

void ProgressLine::end() {
  if (quiet_ || !terminal_ || !drawn_) return;
  fmt::print(stderr, "\r\033[K");
  (void)std::fflush(stderr);
  drawn_ = false;
}

}  // namespace fabricost::cli
