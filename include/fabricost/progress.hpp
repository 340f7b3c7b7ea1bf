#pragma once
/// How far a long search is, and a way to cancel it: the search tells the listener of its thread, and calls its check, now and then.

#include <fabricost/namespaces.hpp>

namespace fabricost::core {

namespace detail {
inline thread_local void (*progress_listener)(long long done, long long all) = nullptr;
inline thread_local void (*interrupt_check)() = nullptr;
}  // namespace detail

/// Called by searches on their thread after every piece of their work. \param all pieces there are
inline void tell_progress(long long done, long long all) {
  if (detail::progress_listener != nullptr) [[unlikely]]
    detail::progress_listener(done, all);
}

/// During its lifetime, searches of this thread tell `listener`.
class ProgressTo {
 public:
  explicit ProgressTo(void (*listener)(long long done, long long all)) : before_(detail::progress_listener) {
    detail::progress_listener = listener;
  }
  ~ProgressTo() { detail::progress_listener = before_; }
  ProgressTo(const ProgressTo&) = delete;
  ProgressTo& operator=(const ProgressTo&) = delete;

 private:
  void (*before_)(long long done, long long all);
};

/// Called by searches on their thread, some thousand times a second. An exception from the check ends the
/// search.
inline void ask_to_go_on() {
  if (detail::interrupt_check != nullptr) [[unlikely]]
    detail::interrupt_check();
}

/// During its lifetime, searches of this thread call `check`.
class InterruptWith {
 public:
  explicit InterruptWith(void (*check)()) : before_(detail::interrupt_check) { detail::interrupt_check = check; }
  ~InterruptWith() { detail::interrupt_check = before_; }
  InterruptWith(const InterruptWith&) = delete;
  InterruptWith& operator=(const InterruptWith&) = delete;

 private:
  void (*before_)();
};

}  // namespace fabricost::core

namespace fabricost {
using core::ProgressTo;
using core::tell_progress;
}  // namespace fabricost
