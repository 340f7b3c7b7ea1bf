#pragma once
/// \file progress.hpp
/// progress=True of searches: a bar on the terminal.

#include <fabricost/fields/fields.hpp>

#include <pybind11/pybind11.h>

namespace fabricost::python {

/// A request whose search shows a bar where it is asked to.
template <class Request>
struct WithProgress : Request {
  bool progress = false;

  static constexpr auto fields() {
    return tables(Request::fields(), Table{asks(&WithProgress::progress, "progress", "", "", "A bar on the terminal while it searches")});
  }
};

/// A bar of tqdm for the searches of this thread during its lifetime; nothing where it is not wanted. With the GIL held.
class ProgressBar {
 public:
  /// \throws ImportError without tqdm
  explicit ProgressBar(bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Of a search that says how far it is. With or without the GIL.
  void tell(long long done, long long all);
  /// Of one that does not: `count` more of its pieces. With the GIL held.
  void advance(long long count);

 private:
  pybind11::object bar_;
  long long shown_ = 0;
  bool told_ = false;
};

/// The bar of this thread; null: there is none.
[[nodiscard]] ProgressBar* shown_bar();

}  // namespace fabricost::python
