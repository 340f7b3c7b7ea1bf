#pragma once
/// Parts of C++20 that the code uses and libc++ 13, of Debian 12's emscripten, lacks. Put before every file of the web build
/// (bindings/web/CMakeLists.txt); a later libc++ has all of it and leaves this empty.

#include <version>

#ifdef _LIBCPP_VERSION
#if _LIBCPP_VERSION < 14000

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace std {  // NOLINT(cert-dcl58-cpp): these are its own names

template <class To, class From>
[[nodiscard]] constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && is_trivially_copyable_v<To> && is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}

/// The general format: digits with a point and an exponent, inf or nan; nothing before them but a minus.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const char* at = first;
  const auto digits = [&] {
    const char* const from = at;
    while (at != last && *at >= '0' && *at <= '9') ++at;
    return at - from;
  };
  if (at != last && *at == '-') ++at;
  const auto is_word = [&](string_view word) {
    if (static_cast<size_t>(last - at) < word.size()) return false;
    for (size_t i = 0; i < word.size(); ++i)
      if ((at[i] | 0x20) != word[i]) return false;
    at += word.size();
    return true;
  };
  if (!is_word("infinity") && !is_word("inf") && !is_word("nan")) {
    auto read = digits();
    if (at != last && *at == '.') {
      ++at;
      read += digits();
    }
    if (read == 0) return {first, errc::invalid_argument};
    if (const char* const before = at; at != last && (*at == 'e' || *at == 'E')) {
      ++at;
      if (at != last && (*at == '+' || *at == '-')) ++at;
      if (digits() == 0) at = before;
    }
  }
  const string text(first, at);
  const double read = strtod(text.c_str(), nullptr);  // musl's is rounded correctly
  const bool finite_text = text.find_first_of("nN") == string::npos;
  if (finite_text && (isinf(read) || (read == 0 && text.find_first_of("123456789") < text.find_first_of("eE"))))
    return {at, errc::result_out_of_range};
  value = read;
  return {at, errc{}};
}

/// In fixed notation.
inline to_chars_result to_chars(char* first, char* last, double value, chars_format /*fixed*/, int digits) {
  const int size = snprintf(first, static_cast<size_t>(last - first), "%.*f", digits, value);
  if (size < 0 || size >= last - first) return {last, errc::value_too_large};
  return {first + size, errc{}};
}

/// A page has one thread: work meant to run beside it runs at once.
class jthread {
 public:
  template <class Work>
  explicit jthread(Work&& work) {
    std::forward<Work>(work)();
  }
};

}  // namespace std

#endif
#endif
