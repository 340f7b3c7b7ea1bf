#pragma once
/// A short name stored inside the value itself, so that results can carry names without allocating; and names in streams, of labels and of
/// enumerations. (text/print.hpp formats them.)

#include <fabricost/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

namespace fabricost::core {

namespace detail {
[[noreturn]] inline void refuse_label(std::string_view text, std::size_t capacity) {
  throw RequestError("\"" + std::string{text.substr(0, 60)} + "\" is longer than " + std::to_string(capacity) +
                     " characters; shorten the name");
}
}  // namespace detail

/// Up to 23 characters, always terminated. A test checks that every name of the library fits. \throws RequestError for a longer one
class Label {
 public:
  static constexpr std::size_t capacity = 23;

  constexpr Label() = default;
  constexpr Label(std::string_view text) {  // NOLINT(google-explicit-constructor): a name is a name
    if (text.size() > capacity) detail::refuse_label(text, capacity);
    for (std::size_t i = 0; i < text.size(); ++i) text_[i] = text[i];
  }
  constexpr Label(const char* text) : Label(std::string_view{text}) {}  // NOLINT(google-explicit-constructor)

  /// What fits of a text that somebody else wrote, as a cell of a log.
  [[nodiscard]] static constexpr Label cut(std::string_view text) { return {text.substr(0, capacity)}; }

  [[nodiscard]] constexpr const char* c_str() const { return text_.data(); }
  [[nodiscard]] constexpr std::string_view view() const { return std::string_view{text_.data()}; }
  constexpr operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor): a name is a text
  operator std::string() const { return std::string{view()}; }    // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr bool empty() const { return text_[0] == '\0'; }

  friend constexpr bool operator==(const Label& a, const Label& b) { return a.text_ == b.text_; }
  friend constexpr bool operator==(const Label& a, std::string_view b) { return a.view() == b; }
  friend constexpr bool operator==(const Label& a, const char* b) { return a.view() == b; }

 private:
  std::array<char, capacity + 1> text_{};
};

/// What has a name: a label, and an enumeration with name(E), as Basis, Algorithm or Collective.
template <class T>
concept Named = std::same_as<T, Label> || (std::is_enum_v<T> && requires(T value) {
  { name(value) } -> std::convertible_to<std::string_view>;
});
/// The name of such a value.
template <Named T>
[[nodiscard]] constexpr std::string_view name_of(const T& value) {
  if constexpr (std::same_as<T, Label>)
    return value.view();
  else
    return name(value);
}
template <class Traits, Named T>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const T& value) {
  return out << name_of(value);
}

namespace detail {
/// Labels of a table of names, made at compile time.
template <class Name, std::size_t N>
[[nodiscard]] constexpr std::array<Label, N> labels_of(const std::array<Name, N>& names) {
  std::array<Label, N> out{};
  for (std::size_t i = 0; i < N; ++i) out[i] = Label{std::string_view{names[i]}};
  return out;
}
}  // namespace detail

}  // namespace fabricost::core

namespace fabricost {
using core::Label;
using core::Named;
}  // namespace fabricost
