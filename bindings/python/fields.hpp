#pragma once
/// Serialisation for pickling, == and hash() of plain C++ values: a value as bytes, field by field, and back.
///
/// Structs are decomposed by structured bindings; the number of their fields is the largest n for which
/// `T{any_1, ..., any_n}` compiles. Numbers are written as in memory (so doubles are restored bit for bit),
/// texts and lists with their length, an optional with a flag. The bytes begin with the version of the
/// library and the layout of the type, so bytes of another version, or truncated ones, are refused.

#include <fabricost/error.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/fixed_list.hpp>
#include <fabricost/label.hpp>
#include <fabricost/shared_text.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
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

inline constexpr std::size_t max_fields = 50;

template <class T, std::size_t n>
inline constexpr bool has_fields = n <= max_fields && makes<T, std::make_index_sequence<n>>;

/// Fields of a struct without bases or constructors: at least `least`, fewer than `too_many`. (Each attempt is compiled: few of them, and
/// short ones first, since most structs have few.)
template <class T, std::size_t least = 0, std::size_t too_many = 0>
[[nodiscard]] consteval std::size_t field_count() {
  if constexpr (least + 1 == too_many)
    return least;
  else if constexpr (constexpr std::size_t n = too_many == 0 ? 2 * least + 2 : (least + too_many) / 2; has_fields<T, n>)
    return field_count<T, n, too_many>();
  else
    return field_count<T, least, n>();
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
  FABRICOST_SCANNED(FABRICOST_FIELDS(max_fields, f50, f49, f48, f47, f46, f45, f44, f43, f42, f41, f40, f39, f38, f37, f36, f35, f34, f33,
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
template <class E>
inline constexpr bool is_list<core::ByName<E>> = true;
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
inline constexpr bool is_shared = false;
template <class E>
inline constexpr bool is_shared<std::shared_ptr<const E>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

}  // namespace detail

/// The bytes of values, written or read. (One class for both ways: what passes a type is compiled once.)
class FieldStream {
 public:
  FieldStream() = default;
  explicit FieldStream(std::string_view bytes) : left_(bytes), reads_(true) {}
  [[nodiscard]] bool reads() const { return reads_; }
  /// \throws RequestError for missing bytes
  void raw(void* bytes, std::size_t count);
  [[nodiscard]] std::size_t left() const { return left_.size(); }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::string_view left_;
  bool reads_ = false;
};

inline void FieldStream::raw(void* bytes, std::size_t count) {
  if (!reads_) {
    out_.append(static_cast<const char*>(bytes), count);
    return;
  }
  if (count > left_.size()) throw RequestError("the pickled bytes are cut short");
  std::copy_n(left_.data(), count, static_cast<char*>(bytes));
  left_.remove_prefix(count);
}

/// Writes the values or reads them, whichever way the stream goes; a writer changes none. Types with constructors or a base name their
/// fields in a function pass_fields(stream, value), which is found by the type.
template <class... T>
void pass(FieldStream& stream, T&... values);

namespace detail {

/// A value that is written as one of another type.
template <class T, class As, class Back>
void pass_as(FieldStream& stream, T& value, As as, Back back) {
  pass(stream, as);
  if (stream.reads()) value = back(std::move(as));
}
/// A length; at most the remaining bytes, so that damaged data cannot allocate memory.
[[nodiscard]] inline std::size_t pass_size(FieldStream& stream, std::size_t size) {
  auto count = static_cast<std::uint64_t>(size);
  pass(stream, count);
  if (stream.reads() && count > stream.left()) throw RequestError("the pickled bytes are cut short");
  return static_cast<std::size_t>(count);
}
template <class One, class List, class Add>
void pass_list(FieldStream& stream, List& list, std::size_t most, Add add) {
  const std::size_t count = pass_size(stream, static_cast<std::size_t>(list.size()));
  if (count > most) throw RequestError("the pickled bytes hold too many items");
  if (stream.reads()) list = {};
  for (std::size_t i = 0; i < count; ++i) {
    if (stream.reads()) {
      One one{};
      pass(stream, one);
      add(std::move(one));
    } else if constexpr (std::same_as<One, bool>) {
      bool one = list[i];  // a vector holds no bool that could be passed
      pass(stream, one);
    } else {
      pass(stream, list.begin()[i]);
    }
  }
}

template <class T>
void pass_one(FieldStream& stream, T& value) {
  if constexpr (std::same_as<T, bool>) {
    pass_as(stream, value, static_cast<unsigned char>(value), [](unsigned char byte) { return byte != 0; });
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    stream.raw(&value, sizeof value);
  } else if constexpr (std::same_as<T, std::string>) {
    value.resize(pass_size(stream, value.size()));
    stream.raw(value.data(), value.size());
  } else if constexpr (std::same_as<T, Label>) {
    pass_as(stream, value, std::string{value.view()}, [](const std::string& text) { return Label{text}; });
  } else if constexpr (std::same_as<T, SharedText>) {
    pass_as(stream, value, value.str(), [](std::string text) { return T{std::move(text)}; });
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    pass_as(stream, value, value.native(), [](std::string text) { return T{std::move(text)}; });
  } else if constexpr (Quantity<T>) {
    pass_as(stream, value, static_cast<double>(value.value()), [](double number) { return T::from_value(number); });
  } else if constexpr (is_list<T>) {
    pass_list<typename T::value_type>(stream, value, std::numeric_limits<std::size_t>::max(),
                                      [&](auto&& one) { value.push_back(std::move(one)); });
  } else if constexpr (is_fixed_list<T>) {
    pass_list<std::remove_cvref_t<decltype(*value.begin())>>(stream, value, T::capacity, [&](const auto& one) { value.add(one); });
  } else if constexpr (is_array<T>) {
    for (auto& each : value) pass(stream, each);
  } else if constexpr (is_optional<T>) {
    bool there = value.has_value();
    pass(stream, there);
    if (stream.reads()) value = there ? T{std::in_place} : T{};
    if (there) pass(stream, *value);
  } else if constexpr (is_shared<T>) {
    using E = std::remove_const_t<typename T::element_type>;
    std::optional<E> held = value == nullptr ? std::nullopt : std::optional<E>{*value};
    pass(stream, held);
    if (stream.reads()) value = held ? std::make_shared<const E>(std::move(*held)) : nullptr;
  } else if constexpr (is_pair<T>) {
    pass(stream, value.first, value.second);
  } else if constexpr (requires { pass_fields(stream, value); }) {
    pass_fields(stream, value);
  } else {
    for_each_field(value, [&](auto& each) { pass(stream, each); });
  }
}

}  // namespace detail

template <class... T>
void pass(FieldStream& stream, T&... values) {
  (detail::pass_one(stream, values), ...);
}

/// All fields of a value as bytes; equal bytes mean equal values.
template <class T>
[[nodiscard]] std::string bytes_of(const T& value) {
  FieldStream out;
  pass(out, const_cast<T&>(value));  // only read
  return out.take();
}

/// \throws RequestError for bytes that are not such a value
template <class T>
[[nodiscard]] T value_of(std::string_view bytes) {
  FieldStream in{bytes};
  T value{};
  pass(in, value);
  if (in.left() > 0) throw RequestError("the pickled bytes are too long");
  return value;
}

}  // namespace fabricost::python
