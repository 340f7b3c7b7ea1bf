#pragma once
/// \file fields.hpp
/// Serialisation for pickling, == and hash() of plain C++ values: a value as bytes, field by field, and back.
///
/// Structs are decomposed by structured bindings; the number of their fields is the largest n for which
/// `T{any_1, ..., any_n}` compiles. Numbers are written as in memory (so doubles are restored bit for bit),
/// texts and lists with their length, an optional with a flag. The bytes begin with the version of the
/// library and the layout of the type, so bytes of another version, or truncated ones, are refused.

#include <fabricost/fixed_list.hpp>
#include <fabricost/label.hpp>
#include <fabricost/shared_text.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fabricost::python {

namespace detail {

/// Stands for a field of any type; never evaluated.
struct AnyField {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <std::size_t>
using AnyOf = AnyField;

template <class T, class Indices>
inline constexpr bool makes = false;
template <class T, std::size_t... I>
inline constexpr bool makes<T, std::index_sequence<I...>> = requires {
  T{AnyOf<I>{}...};
};

inline constexpr std::size_t max_fields = 48;

/// Fields of a struct without bases or constructors.
template <class T, std::size_t n = max_fields>
[[nodiscard]] consteval std::size_t field_count() {
  if constexpr (n == 0)
    return 0;
  else if constexpr (makes<T, std::make_index_sequence<n>>)
    return n;
  else
    return field_count<T, n - 1>();
}

// A structured binding spells out its names, so there is a case for each number of fields: for all names given, then for those after the
// first, and so on. A macro that names itself is expanded again by each scan of FABRICOST_SCANNED, which makes more than max_fields.
#define FABRICOST_FIELDS(count, first, ...)                                                           \
  if constexpr (n == (count)) {                                                                       \
    auto& [first __VA_OPT__(, ) __VA_ARGS__] = value;                                                 \
    [&visit](auto&... each) { (visit(each), ...); }(first __VA_OPT__(, ) __VA_ARGS__);                \
  }                                                                                                   \
  __VA_OPT__(FABRICOST_FEWER_FIELDS FABRICOST_NO_ARGUMENTS ((count)-1, __VA_ARGS__))
#define FABRICOST_FEWER_FIELDS() FABRICOST_FIELDS
#define FABRICOST_NO_ARGUMENTS ()
#define FABRICOST_SCANNED(...) FABRICOST_21_TIMES(FABRICOST_21_TIMES(FABRICOST_21_TIMES(__VA_ARGS__)))
#define FABRICOST_21_TIMES(...) FABRICOST_5_TIMES(FABRICOST_5_TIMES(FABRICOST_5_TIMES(FABRICOST_5_TIMES(__VA_ARGS__))))
#define FABRICOST_5_TIMES(...) FABRICOST_ONCE(FABRICOST_ONCE(FABRICOST_ONCE(FABRICOST_ONCE(__VA_ARGS__))))
#define FABRICOST_ONCE(...) __VA_ARGS__

/// visit(field)... of all fields in their order.
template <class T, class Visit>
void for_each_field(T& value, Visit&& visit) {
  constexpr std::size_t n = field_count<std::remove_const_t<T>>();
  static_assert(n > 0, "a struct whose fields cannot be counted: write it by hand");
  FABRICOST_SCANNED(FABRICOST_FIELDS(max_fields, f48, f47, f46, f45, f44, f43, f42, f41, f40, f39, f38, f37, f36, f35, f34, f33,
                                     f32, f31, f30, f29, f28, f27, f26, f25, f24, f23, f22, f21, f20, f19, f18, f17, f16, f15,
                                     f14, f13, f12, f11, f10, f9, f8, f7, f6, f5, f4, f3, f2, f1))
}

template <class T>
concept Quantity = requires(const T q) {
  { q.value() } -> std::convertible_to<double>;
  { T::from_value(1.0) } -> std::same_as<T>;
};
template <class T>
inline constexpr bool is_list = false;
template <class E>
inline constexpr bool is_list<std::vector<E>> = true;
template <class T>
inline constexpr bool is_fixed_list = false;
template <class E, int n>
inline constexpr bool is_fixed_list<FixedList<E, n>> = true;
template <class T>
inline constexpr bool is_array = false;
template <class E, std::size_t n>
inline constexpr bool is_array<std::array<E, n>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class E>
inline constexpr bool is_optional<std::optional<E>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

}  // namespace detail

/// Writes values as bytes.
class FieldWriter {
 public:
  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      raw(&value, sizeof value);
    else if constexpr (std::same_as<T, Label>)
      text(value.view());
    else if constexpr (std::same_as<T, SharedText>)
      text(value.str());
    else if constexpr (std::same_as<T, std::filesystem::path>)
      text(value.native());
    else if constexpr (std::convertible_to<const T&, std::string_view>)
      text(value);
    else if constexpr (detail::Quantity<T>)
      (*this)(static_cast<double>(value.value()));
    else if constexpr (detail::is_list<T>) {
      size(value.size());
      for (std::size_t i = 0; i < value.size(); ++i) (*this)(static_cast<const typename T::value_type&>(value[i]));
    } else if constexpr (detail::is_fixed_list<T>) {
      size(static_cast<std::size_t>(value.size()));
      for (const auto& each : value) (*this)(each);
    } else if constexpr (detail::is_array<T>) {
      for (const auto& each : value) (*this)(each);
    } else if constexpr (detail::is_optional<T>) {
      (*this)(value.has_value());
      if (value) (*this)(*value);
    } else if constexpr (detail::is_pair<T>) {
      (*this)(value.first);
      (*this)(value.second);
    } else if constexpr (requires { write_fields(*this, value); }) {
      write_fields(*this, value);
    } else {
      detail::for_each_field(value, *this);
    }
  }
  void size(std::size_t count) { (*this)(static_cast<std::uint64_t>(count)); }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void text(std::string_view text) {
    size(text.size());
    out_.append(text);
  }
  void raw(const void* bytes, std::size_t count) { out_.append(static_cast<const char*>(bytes), count); }

  std::string out_;
};

/// Reads values from bytes. \throws std::invalid_argument for missing bytes
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  void operator()(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = *take(1) != 0;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      std::memcpy(&value, take(sizeof value), sizeof value);
    } else if constexpr (std::same_as<T, Label>) {
      value = Label{text()};
    } else if constexpr (std::same_as<T, SharedText> || std::same_as<T, std::string> || std::same_as<T, std::filesystem::path>) {
      value = T{std::string{text()}};
    } else if constexpr (detail::Quantity<T>) {
      double number = 0;
      (*this)(number);
      value = T::from_value(number);
    } else if constexpr (detail::is_list<T>) {
      const std::size_t count = size();
      value.clear();
      for (std::size_t i = 0; i < count; ++i) {
        typename T::value_type one{};
        (*this)(one);
        value.push_back(std::move(one));
      }
    } else if constexpr (detail::is_fixed_list<T>) {
      const std::size_t count = size();
      if (count > T::capacity) throw std::invalid_argument("the pickled bytes hold too many items");
      value = {};
      for (std::size_t i = 0; i < count; ++i) {
        std::remove_cvref_t<decltype(value[0])> one{};
        (*this)(one);
        value.add(one);
      }
    } else if constexpr (detail::is_array<T>) {
      for (auto& each : value) (*this)(each);
    } else if constexpr (detail::is_optional<T>) {
      bool there = false;
      (*this)(there);
      if (!there) {
        value.reset();
      } else {
        typename T::value_type one{};
        (*this)(one);
        value = std::move(one);
      }
    } else if constexpr (detail::is_pair<T>) {
      (*this)(value.first);
      (*this)(value.second);
    } else if constexpr (requires { read_fields(*this, value); }) {
      read_fields(*this, value);
    } else {
      detail::for_each_field(value, *this);
    }
  }
  /// A length; at most the remaining bytes, so that damaged data cannot allocate memory.
  [[nodiscard]] std::size_t size() {
    std::uint64_t count = 0;
    (*this)(count);
    if (count > left_.size()) throw std::invalid_argument("the pickled bytes are cut short");
    return static_cast<std::size_t>(count);
  }
  [[nodiscard]] bool done() const { return left_.empty(); }

 private:
  [[nodiscard]] std::string_view text() {
    const std::size_t count = size();
    return {take(count), count};
  }
  [[nodiscard]] const char* take(std::size_t count) {
    if (count > left_.size()) throw std::invalid_argument("the pickled bytes are cut short");
    const char* const at = left_.data();
    left_.remove_prefix(count);
    return at;
  }

  std::string_view left_;
};

/// All fields of a value as bytes; equal bytes mean equal values.
template <class T>
[[nodiscard]] std::string bytes_of(const T& value) {
  FieldWriter out;
  out(value);
  return out.take();
}

/// \throws std::invalid_argument for bytes that are not such a value
template <class T>
[[nodiscard]] T value_of(std::string_view bytes) {
  FieldReader in{bytes};
  T value{};
  in(value);
  if (!in.done()) throw std::invalid_argument("the pickled bytes are too long");
  return value;
}

}  // namespace fabricost::python
