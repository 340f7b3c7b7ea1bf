#pragma once
/// \file interrupt.hpp
/// A way to cancel a long search: the search calls a check now and then.

#include <fabricost/namespaces.hpp>

namespace fabricost::core {

namespace detail {
inline thread_local void (*interrupt_check)() = nullptr;
}  // namespace detail

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
