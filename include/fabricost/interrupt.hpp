#pragma once
/// \file interrupt.hpp
/// A way out of a long search for who waits for it: the search asks now and then whether to go on.

namespace fabricost {

namespace detail {
inline thread_local void (*interrupt_check)() = nullptr;
}  // namespace detail

/// Called by searches on the thread that runs them, some thousand times a second. Whatever the check throws ends the search.
inline void ask_to_go_on() {
  if (detail::interrupt_check != nullptr) [[unlikely]]
    detail::interrupt_check();
}

/// While it lives, searches of this thread call `check`.
class InterruptWith {
 public:
  explicit InterruptWith(void (*check)()) : before_(detail::interrupt_check) { detail::interrupt_check = check; }
  ~InterruptWith() { detail::interrupt_check = before_; }
  InterruptWith(const InterruptWith&) = delete;
  InterruptWith& operator=(const InterruptWith&) = delete;

 private:
  void (*before_)();
};

}  // namespace fabricost
