#pragma once
/// progress=True of searches: a bar on the terminal. None, the default: after half a second, where somebody looks.

#include <fabricost/fields/fields.hpp>

#include <pybind11/pybind11.h>

#include <optional>

namespace fabricost::python {

/// A request whose search shows a bar.
template <class Request>
struct WithProgress : Request {
  std::optional<bool> progress{};

  static RequestTable<WithProgress> fields() {
    return {Request::fields(), asks(&WithProgress::progress, "progress", "", "",
                                    "A bar on the terminal while it searches; default where the search\nlasts and somebody looks")};
  }
};

/// A bar of tqdm for the searches of this thread during its lifetime. With the GIL held.
class ProgressBar {
 public:
  /// \param wanted none: where the search lasts and somebody looks \throws ImportError without tqdm where it is wanted
  explicit ProgressBar(std::optional<bool> wanted);
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
