#pragma once
/// A list of at most N items stored inside the value itself. Places beyond its end are neither written nor
/// copied, so a large capacity costs nothing.

#include <fabricost/namespaces.hpp>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace fabricost::core {

/// \throws std::length_error a capacity that an algorithm exceeds is a fault of the library, which must not become a wrong time
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_item(int capacity) {
  throw std::length_error("internal error: more than " + std::to_string(capacity) + " items of a prediction; raise the capacity");
}

template <class T, int N>
class FixedList {
  static_assert(std::is_trivially_destructible_v<T>, "items are dropped, never destroyed");

 public:
  static constexpr int capacity = N;

  // not constexpr: g++ 12 would then write all places of a list inside an aggregate
  FixedList() noexcept {}  // NOLINT(modernize-use-equals-default): defaulted, it would write them too
  FixedList(const FixedList& other) { append(other); }
  FixedList& operator=(const FixedList& other) {
    if (this != &other) {
      count_ = 0;
      append(other);
    }
    return *this;
  }
  ~FixedList() = default;

  /// \throws std::length_error beyond `capacity` items
  void add(const T& item) {
    if (count_ >= N) refuse_item(N);
    ::new (static_cast<void*>(items_ + count_)) T(item);
    ++count_;
  }
  /// Constructs the item in place. Copying a temporary would cause a store-forwarding stall (narrow stores
  /// followed by a wider load).
  template <class... Parts>
  void emplace(const Parts&... parts) {
    if (count_ >= N) refuse_item(N);
    ::new (static_cast<void*>(items_ + count_)) T{parts...};
    ++count_;
  }
  /// Keeps the items that pass a test, in their order.
  template <class Test>
  constexpr void keep_if(Test&& test) {
    int kept = 0;
    for (int i = 0; i < count_; ++i)
      if (test(items_[i])) items_[kept++] = items_[i];
    count_ = kept;
  }

  [[nodiscard]] constexpr int size() const { return count_; }
  [[nodiscard]] constexpr bool empty() const { return count_ == 0; }
  [[nodiscard]] constexpr const T* begin() const { return items_; }
  [[nodiscard]] constexpr const T* end() const { return items_ + count_; }
  [[nodiscard]] constexpr T* begin() { return items_; }
  [[nodiscard]] constexpr T* end() { return items_ + count_; }
  [[nodiscard]] constexpr const T& operator[](int i) const { return items_[i]; }
  [[nodiscard]] constexpr T& operator[](int i) { return items_[i]; }

 private:
  void append(const FixedList& other) {
    for (const T& item : other) ::new (static_cast<void*>(items_ + count_++)) T(item);
  }

  int count_ = 0;
  union {
    T items_[N];  // NOLINT(modernize-avoid-c-arrays): std::array would have to begin its life as a whole
  };
};

}  // namespace fabricost::core
