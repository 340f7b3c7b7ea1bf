#pragma once
/// \file progress.hpp
/// How far a long search is: it tells the listener of its thread, if there is one.

#include <fabricost/namespaces.hpp>

namespace fabricost::core {

namespace detail {
inline thread_local void (*progress_listener)(long long done, long long all) = nullptr;
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

}  // namespace fabricost::core

namespace fabricost {
using core::ProgressTo;
using core::tell_progress;
}  // namespace fabricost
