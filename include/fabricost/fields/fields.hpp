#pragma once
/// The table of fields of a request or an answer, from which every interface is made.
///
/// A request lists each of its values once: the member, its option, unit and range, and one sentence. The
/// command makes options, checks and help from that table; Python makes keyword arguments, defaults and
/// docstrings; C++ uses the members. A member has the same name as in Python; one that holds a quantity lacks the unit at the end, as
/// `Time step` of `step_seconds` does (name_in_cpp). Interfaces read and write its number in the coherent unit (numbers_in).
///
/// An answer lists its values the same way: the JSON key ("power.rated_kW", with the unit used in JSON) and
/// the name in Python.
///
/// A rule between fields is written once, in the question's own file, and names fields in angle brackets:
/// "<mfu> is of a model's FLOPs: add <model>". Each interface spells them its own way: --mfu, mfu=, mfu.

#include <fabricost/collective.hpp>
#include <fabricost/compiled_part.hpp>
#include <fabricost/error.hpp>
#include <fabricost/units.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fabricost::core {

/// The notation of a number on the command line. Everywhere else it is in SI units.
enum class Amount : unsigned char {
  number,             ///< 2.5
  count,              ///< a whole number
  length,             ///< of a text in tokens, a whole number: 4096, 128k, 1M, as contexts are named
  large_count,        ///< 15T
  seconds,            ///< 30s, 10min, 4h
  share,              ///< 0.01 or 1%
  bytes_per_second,   ///< 2TB/s
  one_way_rate,       ///< 50 GB/s or 200 Gbit/s, of bytes that go one way
  size,               ///< 64B, 1GiB; of many: 64B:64KiB:x2
  size_or_unbounded,  ///< the word is infinity
  gibibytes,          ///< 40: so many GiB
  kilometres,         ///< 500 or 500km
};

/// A number of an answer as JSON prints it: value / `over` * `times`; where it is `whole`, as a count of bytes is, as an integer.
struct JsonUnit {
  double over = 1, times = 1;
  bool whole = false;
  constexpr JsonUnit(double over_ = 1, double times_ = 1) : over(over_), times(times_) {}  // NOLINT
};
inline constexpr JsonUnit in_microseconds{1, 1e6}, in_percent{1, 100}, in_gigabytes_per_second{1e9};

/// Both ends are allowed; with `above`, `min` itself is not.
struct Range {
  double min = -std::numeric_limits<double>::infinity(), max = std::numeric_limits<double>::infinity();
  bool above = false;
  [[nodiscard]] constexpr bool holds(double x) const { return (above ? x > min : x >= min) && x <= max; }
};
inline constexpr Range any_count{1, 10'000'000}, any_share{0, 1}, some_share{0, 1, true}, any_time{0, 1e12}, some_time{0, 1e12, true};

/// A type of units.hpp, as Time.
template <class T>
inline constexpr bool is_quantity = false;
template <class... Powers>
inline constexpr bool is_quantity<Quantity<Powers...>> = true;

namespace detail {
template <class T>
struct NumbersIn {
  using Type = T;
};
template <class... Powers>
struct NumbersIn<Quantity<Powers...>> {
  using Type = double;
};
template <class T>
struct NumbersIn<std::optional<T>> {
  using Type = std::optional<typename NumbersIn<T>::Type>;
};
template <class T>
struct NumbersIn<std::vector<T>> {
  using Type = std::vector<typename NumbersIn<T>::Type>;
};
template <class A, class B>
struct NumbersIn<std::pair<A, B>> {
  using Type = std::pair<typename NumbersIn<A>::Type, typename NumbersIn<B>::Type>;
};
}  // namespace detail
/// What interfaces hold for a T: for a quantity, also inside an optional, a vector or a pair, the double in its coherent unit; else T.
template <class T>
using Numbers = typename detail::NumbersIn<T>::Type;
template <class T>
concept HasQuantities = !std::same_as<T, Numbers<T>>;

/// The value as interfaces hold it.
template <class T>
[[nodiscard]] constexpr const T& numbers_in(const T& value) {
  return value;
}
template <HasQuantities T>
[[nodiscard]] constexpr Numbers<T> numbers_in(const T& value) {
  if constexpr (is_quantity<T>) {
    return value.value();
  } else if constexpr (requires { value.has_value(); }) {
    return value ? Numbers<T>{numbers_in(*value)} : std::nullopt;
  } else if constexpr (requires { value.first; }) {
    return {numbers_in(value.first), numbers_in(value.second)};
  } else {
    Numbers<T> out;
    for (const auto& each : value) out.push_back(numbers_in(each));
    return out;
  }
}
/// The value of a T that interfaces hold as `numbers`.
template <class T>
[[nodiscard]] constexpr T with_units(const Numbers<T>& numbers) {
  if constexpr (!HasQuantities<T>) {
    return numbers;
  } else if constexpr (is_quantity<T>) {
    return T::from_value(numbers);
  } else if constexpr (requires { numbers.has_value(); }) {
    return numbers ? T{with_units<typename T::value_type>(*numbers)} : std::nullopt;
  } else if constexpr (requires { numbers.first; }) {
    return {with_units<typename T::first_type>(numbers.first), with_units<typename T::second_type>(numbers.second)};
  } else {
    T out;
    for (const auto& each : numbers) out.push_back(with_units<typename T::value_type>(each));
    return out;
  }
}

/// The member of C++ that holds a quantity, by its name in Python: `step` of step_seconds, `storage_bandwidth` of storage_bytes_per_second.
[[nodiscard]] std::string name_in_cpp(std::string_view name);

/// One value of a request, but for its member.
struct RequestFieldRow {
  std::string_view name;    ///< in Python and in rules; the member's name
  std::string_view option;  ///< of the command: "--gpus,-g"; "FILE": an argument that stands by itself; empty: the command has none
  Amount amount = Amount::number;
  Range range{};
  std::string_view kind;   ///< what help calls its value: "TIME"; "TIME...": several may follow one option
  std::string_view words;  ///< one sentence; other fields in angle brackets; help keeps its line breaks
  bool needed = false;     ///< signatures show no default
  bool inside = false;     ///< Python has it inside of another argument: the size of an operation
};
/// The same with it.
/// \tparam T double, a quantity, int, bool, std::string, an enumeration, an optional or a vector of these, or a type of
/// named.hpp such as Machine. A vector is an option that may be repeated; an optional vector of numbers is
/// one option with several values. The default of a member means "not given" and need not lie in the range.
template <class Request, class T>
struct RequestField : RequestFieldRow {
  T Request::*member;
};

template <class Request, class T>
[[nodiscard]] constexpr RequestField<Request, T> asks(T Request::*member, std::string_view name, std::string_view option, Amount amount,
                                              Range range, std::string_view kind, std::string_view words, bool needed = false,
                                              bool inside = false) {
  return {{name, option, amount, range, kind, words, needed, inside}, member};
}
/// A value that is not an amount: a name, a word, a file, a flag.
template <class Request, class T>
[[nodiscard]] constexpr RequestField<Request, T> asks(T Request::*member, std::string_view name, std::string_view option, std::string_view kind,
                                              std::string_view words, bool needed = false, bool inside = false) {
  return {{name, option, Amount::number, {}, kind, words, needed, inside}, member};
}

/// One value of an answer, but for its member.
struct AnswerFieldRow {
  std::string_view json;   ///< path of its key: "power.rated_kW"; "interval_us[]" appends to that list; empty: not in JSON
  std::string_view name;   ///< in Python; empty: not there
  std::string_view words;  ///< one sentence, with the unit it has in Python and C++
  JsonUnit json_unit{};
  bool left_out = false;  ///< an absent, empty or zero value has no key; otherwise an absent optional is null
  bool beside = false;    ///< has a key only where another field has already created the object that contains it
  bool names_fields = false;  ///< a text, or several, with fields of the request in angle brackets, which each interface spells (spelled.hpp)
  bool alone = false;         ///< where it is present, the fields after it have no key
};
/// The same with it.
/// \tparam T type of the member, or of the result of a member function
template <class Answer, class T>
struct AnswerField : AnswerFieldRow {
  T Answer::*member;
};

template <class Answer, class T>
[[nodiscard]] constexpr AnswerField<Answer, T> gives(T Answer::*member, std::string_view json, std::string_view name, std::string_view words,
                                               JsonUnit json_unit = {}, bool left_out = false, bool beside = false) {
  return {{json, name, words, json_unit, left_out, beside}, member};
}
/// The same of a text that names fields of the request, as a rule does: "does not fit; it would with <precision=fp8>".
template <class Answer, class T>
[[nodiscard]] constexpr AnswerField<Answer, T> names_fields(AnswerField<Answer, T> field) {
  field.names_fields = true;
  return field;
}
/// The reason why there is no answer, as such a text: it has a key only where there is one, and then the fields after it have none.
template <class Answer>
[[nodiscard]] constexpr auto gives_trouble(std::string Answer::*member, std::string_view words, std::string_view name = "trouble") {
  auto out = names_fields(gives(member, "trouble", name, words, 1, true));
  out.alone = true;
  return out;
}

/// The fields of a request S, and of an answer S, in order (field.hpp). A struct declares its table; the source of its answer defines it,
/// and docs/reference/fields.md lists what it says of every member.
template <class S>
struct RequestTable;
template <class S>
struct AnswerTable;

/// Values with their names, in order: an object in JSON, a dict in Python.
template <class T>
struct ByName : std::vector<std::pair<std::string, T>> {
  using std::vector<std::pair<std::string, T>>::vector;
};

/// The names of an enumeration's values, and its description with its article. Each enumeration of a request
/// has words_of(E) -> EnumWords.
template <std::size_t N>
struct EnumWords {
  std::array<std::string_view, N> names;
  std::string_view what;
};
template <std::size_t N>
EnumWords(std::array<std::string_view, N>, std::string_view) -> EnumWords<N>;
/// The value that `text` names: one of the words, or accepted by the enumeration's parse_word(E, text).
template <class E>
requires std::is_enum_v<E>
[[nodiscard]] std::optional<E> worded(std::string_view text) {
  if constexpr (requires { parse_word(E{}, text); })
    return parse_word(E{}, text);
  else
    return parse_enum<E>(text, words_of(E{}).names);
}

/// `"allreduc" is not an operation; did you mean all_reduce?`; lists all names when none is similar. `what`
/// has its article.
[[nodiscard]] std::string unknown_text(std::string_view given, std::string_view what, std::span<const std::string> names);
[[nodiscard]] std::string unknown_text(std::string_view given, std::string_view what, std::span<const std::string_view> names);
/// The same of an enumeration's value.
template <class E>
[[nodiscard]] std::string unknown_value(std::string_view given) {
  const auto words = words_of(E{});
  return unknown_text(given, words.what, words.names);
}

/// Reports a field outside its range. \throws Refusal
[[noreturn]] void refuse_range(std::string_view name, double value, const Range& range);

}  // namespace fabricost::core
