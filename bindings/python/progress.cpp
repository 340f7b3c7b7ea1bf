/// Bars of tqdm.

#include "progress.hpp"

#include "arguments.hpp"

#include <fabricost/progress.hpp>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds silent{500}, redrawn{50};

thread_local ProgressBar* current = nullptr;
thread_local std::optional<ProgressTo> listening;
thread_local Clock::time_point begun;
thread_local bool unasked = false;  ///< it is shown where a person looks, once the search has lasted

/// \param leave what is drawn last stays
[[nodiscard]] py::object bar_of_tqdm(bool leave) {
  return by_python("_extras", "module", "tqdm.auto").attr("tqdm")("desc"_a = "fabricost", "leave"_a = leave);
}

/// Standard error is a terminal, or this is a notebook that can draw bars, and nobody switched them off.
[[nodiscard]] bool somebody_looks() {
  if (const char* const set = std::getenv("FABRICOST_PROGRESS"); set != nullptr && std::string_view{set} == "0") return false;
  const py::module_ sys = py::module_::import("sys");
  if (sys.attr("modules").contains("ipykernel")) return !py::module_::import("importlib.util").attr("find_spec")("ipywidgets").is_none();
  return !sys.attr("stderr").is_none() && sys.attr("stderr").attr("isatty")().cast<bool>();
}

[[nodiscard]] bool lasts(Clock::time_point now) { return unasked && now - begun >= silent; }

/// The bar of a search that lasts; null where nobody looks, or without tqdm. With the GIL held.
[[nodiscard]] py::object unasked_bar() {
  unasked = false;  // looked once
  try {
    return somebody_looks() ? bar_of_tqdm(false) : py::object{};
  } catch (py::error_already_set&) {
    return {};
  }
}

}  // namespace

ProgressBar* shown_bar() { return current; }

ProgressBar::ProgressBar(std::optional<bool> wanted) {
  if (current != nullptr) return;
  if (wanted.value_or(false)) bar_ = bar_of_tqdm(true);
  unasked = !wanted;  // neither yes nor no
  begun = Clock::now();
  current = this;
  listening.emplace([](long long done, long long all) {
    if (current != nullptr) current->tell(done, all);
  });
}

ProgressBar::~ProgressBar() {
  if (current != this) return;
  listening.reset();
  current = nullptr;
  if (bar_) try {
    bar_.attr("close")();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("fabricost's progress bar");
  }
}

void ProgressBar::tell(long long done, long long all) {
  static thread_local Clock::time_point last{};
  const auto now = Clock::now();
  if (!bar_ && (done >= all || !lasts(now))) return;
  if (told_ && done < all && now - last < redrawn) return;
  last = now;
  const py::gil_scoped_acquire held;
  if (!bar_ && !(bar_ = unasked_bar())) return;
  told_ = true;
  bar_.attr("total") = all;
  bar_.attr("update")(done - shown_);
  shown_ = done;
}

void ProgressBar::advance(long long count) {
  if (!bar_ && lasts(Clock::now())) bar_ = unasked_bar();
  if (bar_ && !told_) bar_.attr("update")(count);
}

}  // namespace fabricost::python
