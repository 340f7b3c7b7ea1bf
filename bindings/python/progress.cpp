/// \file progress.cpp
/// Bars of tqdm.

#include "progress.hpp"

#include "arguments.hpp"

#include <fabricost/progress.hpp>

#include <chrono>
#include <optional>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

thread_local ProgressBar* current = nullptr;
thread_local std::optional<ProgressTo> listening;

}  // namespace

ProgressBar* shown_bar() { return current; }

ProgressBar::ProgressBar(bool wanted) {
  if (!wanted || current != nullptr) return;
  bar_ = by_python("_extras", "module", "tqdm.auto").attr("tqdm")("desc"_a = "fabricost");
  current = this;
  listening.emplace([](long long done, long long all) {
    if (current != nullptr) current->tell(done, all);
  });
}

ProgressBar::~ProgressBar() {
  if (!bar_) return;
  listening.reset();
  current = nullptr;
  try {
    bar_.attr("close")();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("fabricost's progress bar");
  }
}

void ProgressBar::tell(long long done, long long all) {
  using Clock = std::chrono::steady_clock;
  static thread_local Clock::time_point last{};
  const auto now = Clock::now();
  if (told_ && done < all && now - last < std::chrono::milliseconds(50)) return;
  last = now;
  told_ = true;
  const py::gil_scoped_acquire held;
  bar_.attr("total") = all;
  bar_.attr("update")(done - shown_);
  shown_ = done;
}

void ProgressBar::advance(long long count) {
  if (!told_) bar_.attr("update")(count);
}

}  // namespace fabricost::python
