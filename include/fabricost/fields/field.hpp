#pragma once
/// The fields of a struct as interfaces walk them at run time: the row of its table, where its value stands in the struct, and what its type
/// allows.
///
/// fields_of<CostRequest>() is a span of Field. An interface reads, writes and prints a value through the ValueType of its field, so that no interface
/// is compiled once a question.
///
/// Texts of an answer that name fields of the request (AnswerField::names_fields), in the words of an interface: --mfu, mfu=, mfu.

#include <fabricost/error.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/fixed_list.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace fabricost::core {

enum class ValueKind : unsigned char {
  flag,      ///< bool
  whole,     ///< a whole number
  number,    ///< a double, or a quantity in its coherent unit
  text,      ///< a text, a name, a path
  word,      ///< a value of an enumeration
  optional,  ///< one value or none
  list,
  pair,
  by_name,  ///< values with names, in order
  record,   ///< a struct with a table of fields
  variant,
  other,  ///< known by its own functions alone
};

struct Field;

/// What interfaces do with values of one type; there is one constant a type, value_type<T>. A function is null where the kind has no use for it.
struct ValueType {
  ValueKind kind = ValueKind::other;
  bool quantity = false;  ///< a number with a type of units.hpp
#ifdef __cpp_rtti
  const std::type_info* id = nullptr;
#endif
  const ValueType* inner = nullptr;           ///< of what an optional, a list or a ByName holds; the first of a pair
  const ValueType* second = nullptr;          ///< of a pair
  std::span<const std::string_view> words{};  ///< of an enumeration that requests name
  std::string_view what{};                    ///< "an operation"
  std::span<const Field> (*fields)() = nullptr;
  double (*number)(const void*) = nullptr;  ///< of flag, whole, number; the place of a word
  void (*set_number)(void*, double) = nullptr;
  std::string_view (*text)(const void*) = nullptr;  ///< of text and word
  void (*set_text)(void*, std::string_view) = nullptr;
  bool (*set_word)(void*, std::string_view) = nullptr;              ///< false: it is none of the words
  std::size_t (*count)(const void*) = nullptr;                      ///< of optional, list, pair, by_name
  const void* (*at)(const void*, std::size_t) = nullptr;            ///< likewise
  std::string_view (*name_at)(const void*, std::size_t) = nullptr;  ///< of by_name
  void* (*add)(void*) = nullptr;                                    ///< an empty one of an optional or at the end of a list; its address
  void* (*add_named)(void*, std::string_view) = nullptr;            ///< the same at the end of by_name
  void (*clear)(void*) = nullptr;                                   ///< of optional, list, by_name
  std::span<const ValueType* const> alternatives{};                 ///< of a variant
  std::size_t (*chosen)(const void*) = nullptr;                     ///< its place among them
  const void* (*held)(const void*) = nullptr;                       ///< and what it holds
  void* (*choose)(void*, std::size_t) = nullptr;                    ///< makes it an empty one of that place; its address
  bool (*absent)(const void*) = nullptr;
  bool (*equal)(const void*, const void*) = nullptr;  ///< of record and other, where the type has ==
  void* (*copy)(const void*) = nullptr;               ///< of record and other, by new
  void (*assign)(void* to, const void* from) = nullptr;
  /// Its own notation; null for those that every text of its kind has. \throws RequestError
  void (*parse)(const std::string& text, std::string_view option, const Amount&, const Range&, void* out) = nullptr;

  /// The type of the part at a place of an optional, a list, a pair or a ByName.
  [[nodiscard]] constexpr const ValueType& part(std::size_t place) const { return place == 1 && second != nullptr ? *second : *inner; }
  /// The type without optional.
  [[nodiscard]] constexpr const ValueType& bare() const { return kind == ValueKind::optional ? *inner : *this; }
};

/// A row of a struct's table.
struct Field {
  std::string_view name, words;
  const ValueType* type = nullptr;
  std::size_t offset = 0;  ///< of a member, or of the base that has a member function, in bytes from the beginning of the struct
  std::function<std::shared_ptr<const void>(const void* base)> compute{};  ///< calls a member function
  // of a request: RequestField
  std::string_view option{}, kind{};
  Amount amount = Amount::number;
  Range range{};
  bool needed = false, inside = false;
  // of an answer: AnswerField
  std::string_view json{};
  JsonUnit json_unit{};
  bool left_out = false, beside = false, names_fields = false, alone = false;

  [[nodiscard]] bool is_member() const { return !compute; }
  [[nodiscard]] const void* in(const void* object) const { return static_cast<const char*>(object) + offset; }
  [[nodiscard]] void* in(void* object) const { return static_cast<char*>(object) + offset; }
  /// The value in an object; what a member function returns lives as long as the result.
  [[nodiscard]] std::shared_ptr<const void> value(const void* object) const {
    return is_member() ? std::shared_ptr<const void>{std::shared_ptr<const void>{}, in(object)} : compute(in(object));
  }
};

/// The table of a struct. For types of the model, which do not depend on tables, an overload stands beside
/// the answers that contain them.
template <class S>
requires requires { S::fields(); }
[[nodiscard]] auto table_for(std::type_identity<S> /*of*/) { return S::fields(); }
template <class S>
concept HasFields = requires {
  table_for(std::type_identity<S>{});
};

/// The fields of a struct, in the order of its table.
template <HasFields S>
[[nodiscard]] std::span<const Field> fields_of();

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;
template <class T, int n>
inline constexpr bool is_vector<FixedList<T, n>> = true;
template <class T>
inline constexpr bool is_by_name = false;
template <class T>
inline constexpr bool is_by_name<ByName<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;
template <class T>
concept IsOptional = std::same_as<T, std::optional<typename T::value_type>>;
template <class T>
concept IsPair = std::same_as<T, std::pair<typename T::first_type, typename T::second_type>>;
template <class T>
concept HasView = requires(const T& value) {
  { value.view() } -> std::convertible_to<std::string_view>;
};
template <class T>
concept HasWords = std::is_enum_v<T> && requires(T value) {
  words_of(value);
};

template <class T>
[[nodiscard]] consteval ValueKind kind_of() {
  if constexpr (std::same_as<T, bool>)
    return ValueKind::flag;
  else if constexpr (std::integral<T>)
    return ValueKind::whole;
  else if constexpr (std::floating_point<T> || is_quantity<T>)
    return ValueKind::number;
  else if constexpr (std::is_enum_v<T>)
    return ValueKind::word;
  else if constexpr (HasView<T> || std::same_as<T, std::string> || std::same_as<T, std::filesystem::path> ||
                     std::convertible_to<T, std::string_view>)
    return ValueKind::text;
  else if constexpr (IsOptional<T>)
    return ValueKind::optional;
  else if constexpr (is_by_name<T>)
    return ValueKind::by_name;
  else if constexpr (HasFields<T>)
    return ValueKind::record;
  else if constexpr (is_vector<T> && !std::same_as<T, std::vector<bool>>)
    return ValueKind::list;
  else if constexpr (IsPair<T>)
    return ValueKind::pair;
  else if constexpr (is_variant<T>)
    return ValueKind::variant;
  else
    return ValueKind::other;
}

template <class T>
[[nodiscard]] const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

template <HasWords E>
inline constexpr auto words_of_type = words_of(E{});

template <class T>
[[nodiscard]] constexpr ValueType make_value_type();

}  // namespace detail

/// What interfaces do with values of a type.
template <class T>
inline constexpr ValueType value_type = detail::make_value_type<T>();
template <class T>
[[nodiscard]] bool is_type(const ValueType& type) {
  return &type == &value_type<T>;
}

/// One of its kind, for the places of members.
template <class S>
[[nodiscard]] const S& one_of() {
  static const S object{};
  return object;
}

/// The place of a member in its object.
template <class S, class T>
[[nodiscard]] std::size_t offset_of(T S::*member) {
  const S& object = one_of<S>();
  return static_cast<std::size_t>(reinterpret_cast<const char*>(&(object.*member)) - reinterpret_cast<const char*>(&object));
}

namespace detail {

template <class T>
constexpr void fill_scalar(ValueType& out) {
  if constexpr (kind_of<T>() == ValueKind::word) {
    out.number = [](const void* value) { return static_cast<double>(as<T>(value)); };
    if constexpr (requires(T value) { name(value); }) out.text = [](const void* value) -> std::string_view { return name(as<T>(value)); };
    if constexpr (HasWords<T>) {
      out.words = words_of_type<T>.names;
      out.what = words_of_type<T>.what;
      if (out.text == nullptr) out.text = [](const void* value) { return words_of_type<T>.names[static_cast<std::size_t>(as<T>(value))]; };
      out.set_word = [](void* value, std::string_view text) {
        const std::optional<T> found = worded<T>(text);
        if (found) *static_cast<T*>(value) = *found;
        return found.has_value();
      };
    }
  } else if constexpr (is_quantity<T>) {
    out.quantity = true;
    out.number = [](const void* value) { return static_cast<double>(as<T>(value).value()); };
    out.set_number = [](void* value, double number) { *static_cast<T*>(value) = T::from_value(number); };
  } else {
    out.number = [](const void* value) { return static_cast<double>(as<T>(value)); };
    out.set_number = [](void* value, double number) { *static_cast<T*>(value) = static_cast<T>(number); };
  }
  if constexpr (kind_of<T>() == ValueKind::whole) out.absent = [](const void* value) { return as<T>(value) == 0; };
}

template <class T>
constexpr void fill_text(ValueType& out) {
  out.text = [](const void* value) -> std::string_view {
    if constexpr (HasView<T>)
      return as<T>(value).view();
    else if constexpr (std::same_as<T, std::filesystem::path>)
      return as<T>(value).native();
    else
      return as<T>(value);
  };
  if constexpr (std::constructible_from<T, std::string>)
    out.set_text = [](void* value, std::string_view text) { *static_cast<T*>(value) = T{std::string{text}}; };
  if constexpr (requires(const T& value) { value.empty(); }) out.absent = [](const void* value) { return as<T>(value).empty(); };
}

template <class T>
constexpr void fill_container(ValueType& out) {
  constexpr ValueKind kind = kind_of<T>();
  if constexpr (kind == ValueKind::pair) {
    out.inner = &value_type<typename T::first_type>;
    out.second = &value_type<typename T::second_type>;
    out.count = [](const void*) { return std::size_t{2}; };
    out.at = [](const void* value, std::size_t i) -> const void* {
      return i == 0 ? static_cast<const void*>(&as<T>(value).first) : &as<T>(value).second;
    };
  } else if constexpr (kind == ValueKind::optional) {
    out.inner = &value_type<typename T::value_type>;
    out.count = [](const void* value) { return std::size_t{as<T>(value).has_value()}; };
    out.at = [](const void* value, std::size_t) -> const void* { return &*as<T>(value); };
    if constexpr (std::default_initializable<typename T::value_type>)
      out.add = [](void* value) -> void* { return &static_cast<T*>(value)->emplace(); };
    out.clear = [](void* value) { static_cast<T*>(value)->reset(); };
    out.absent = [](const void* value) { return !as<T>(value).has_value(); };
  } else if constexpr (kind == ValueKind::by_name) {
    out.inner = &value_type<typename T::value_type::second_type>;
    out.count = [](const void* value) { return as<T>(value).size(); };
    out.at = [](const void* value, std::size_t i) -> const void* { return &as<T>(value)[i].second; };
    out.name_at = [](const void* value, std::size_t i) -> std::string_view { return as<T>(value)[i].first; };
    out.add_named = [](void* value, std::string_view name) -> void* {
      auto& one = static_cast<T*>(value)->emplace_back();
      one.first = name;
      return &one.second;
    };
    out.clear = [](void* value) { static_cast<T*>(value)->clear(); };
    out.absent = [](const void* value) { return as<T>(value).empty(); };
  } else {
    using One = std::remove_cvref_t<decltype(*std::declval<const T&>().begin())>;
    out.inner = &value_type<One>;
    out.count = [](const void* value) { return static_cast<std::size_t>(as<T>(value).size()); };
    out.at = [](const void* value, std::size_t i) -> const void* { return &*(as<T>(value).begin() + static_cast<std::ptrdiff_t>(i)); };
    if constexpr (requires(T & list) { list.emplace_back(); })
      out.add = [](void* value) -> void* { return &static_cast<T*>(value)->emplace_back(); };
    else if constexpr (requires(T & list, One one) { list.add(one); })
      out.add = [](void* value) -> void* {
        T& list = *static_cast<T*>(value);
        list.add(One{});
        return const_cast<One*>(&*(list.begin() + (list.size() - 1)));
      };
    out.clear = [](void* value) { *static_cast<T*>(value) = T{}; };
    out.absent = [](const void* value) { return as<T>(value).size() == 0; };
  }
}

template <class T>
inline constexpr int alternatives_of = 0;
template <class... One>
inline constexpr std::array<const ValueType*, sizeof...(One)> alternatives_of<std::variant<One...>>{&value_type<One>...};

template <class T>
constexpr void fill_variant(ValueType& out) {
  out.alternatives = alternatives_of<T>;
  out.chosen = [](const void* value) { return as<T>(value).index(); };
  out.held = [](const void* value) { return std::visit([](const auto& one) -> const void* { return &one; }, as<T>(value)); };
  out.choose = [](void* value, std::size_t place) {
    T& variant = *static_cast<T*>(value);
    [&]<std::size_t... i>(std::index_sequence<i...> /*places*/) { (void)((i == place && (variant.template emplace<i>(), true)) || ...); }
    (std::make_index_sequence<std::variant_size_v<T>>{});
    return std::visit([](auto& one) -> void* { return &one; }, variant);
  };
}

template <class T>
constexpr void fill_struct(ValueType& out) {
  if constexpr (kind_of<T>() == ValueKind::record) out.fields = &fields_of<T>;
  if constexpr (kind_of<T>() == ValueKind::variant)
    fill_variant<T>(out);
  else if constexpr (requires(const T& value) {
                       { value == value } -> std::convertible_to<bool>;
                     })
    out.equal = [](const void* a, const void* b) -> bool { return as<T>(a) == as<T>(b); };
  if constexpr (std::copyable<T>) {
    out.copy = [](const void* value) -> void* { return new T(as<T>(value)); };
    out.assign = [](void* to, const void* from) { *static_cast<T*>(to) = as<T>(from); };
  }
  if constexpr (requires(const T& value) { value.empty(); }) out.absent = [](const void* value) -> bool { return as<T>(value).empty(); };
}

template <class T>
constexpr ValueType make_value_type() {
  ValueType out{.kind = kind_of<T>()};
#ifdef __cpp_rtti
  out.id = &typeid(T);
#endif
  constexpr ValueKind kind = kind_of<T>();
  if constexpr (kind <= ValueKind::number || kind == ValueKind::word)
    fill_scalar<T>(out);
  else if constexpr (kind == ValueKind::text)
    fill_text<T>(out);
  else if constexpr (kind >= ValueKind::optional && kind <= ValueKind::by_name)
    fill_container<T>(out);
  else
    fill_struct<T>(out);
  if constexpr (requires(const std::string& text, std::string_view option, const Amount& amount, const Range& range, T& value) {
                  from_text(text, option, amount, range, value);
                })
    out.parse = [](const std::string& text, std::string_view option, const Amount& amount, const Range& range, void* value) {
      from_text(text, option, amount, range, *static_cast<T*>(value));
    };
  return out;
}

[[nodiscard]] Field field_of(const RequestFieldRow& row, const ValueType& type, std::size_t offset);
[[nodiscard]] Field field_of(const AnswerFieldRow& row, const ValueType& type, std::size_t offset);

/// The fields of a struct S: rows, and the tables of its bases.
template <class S>
class FieldTable {
 public:
  template <class... Rows>
  FieldTable(const Rows&... rows) {  // NOLINT
    (add(rows), ...);
  }
  std::vector<Field> all{};

 private:
  template <class R, class T>
  void add(const RequestField<R, T>& row) {
    all.push_back(field_of(row, value_type<T>, offset_of<S, T>(row.member)));
  }
  template <class A, class T>
  void add(const AnswerField<A, T>& row) {
    if constexpr (std::is_function_v<T>) {
      using Result = decltype(std::invoke(row.member, std::declval<const S&>()));
      using Value = std::remove_cvref_t<Result>;
      all.push_back(field_of(row, value_type<Value>, 0));
      all.back().compute = [member = row.member](const void* object) -> std::shared_ptr<const void> {
        const S& self = *static_cast<const S*>(object);
        if constexpr (std::is_reference_v<Result>)
          return {std::shared_ptr<const void>{}, &std::invoke(member, self)};
        else
          return std::make_shared<const Value>(std::invoke(member, self));
      };
    } else {
      all.push_back(field_of(row, value_type<T>, offset_of<S, T>(row.member)));
    }
  }
  template <class Base>
  void add(const FieldTable<Base>& of_base) {
    const S& object = one_of<S>();
    const auto place = reinterpret_cast<const char*>(static_cast<const Base*>(&object)) - reinterpret_cast<const char*>(&object);
    for (const Field& field : of_base.all) all.emplace_back(field).offset += static_cast<std::size_t>(place);
  }
};

}  // namespace detail

template <class S>
struct RequestTable : detail::FieldTable<S> {
  using detail::FieldTable<S>::FieldTable;
  /// All but those with these options.
  [[nodiscard]] RequestTable without(std::span<const std::string_view> options) const {
    RequestTable out = *this;
    std::erase_if(out.all, [&](const Field& field) { return std::find(options.begin(), options.end(), field.option) != options.end(); });
    return out;
  }
  /// All, those with these names not needed.
  [[nodiscard]] RequestTable not_needing(std::initializer_list<std::string_view> names) const {
    RequestTable out = *this;
    for (Field& field : out.all) field.needed = field.needed && std::find(names.begin(), names.end(), field.name) == names.end();
    return out;
  }
};
template <class S>
struct AnswerTable : detail::FieldTable<S> {
  using detail::FieldTable<S>::FieldTable;
};

template <HasFields S>
std::span<const Field> fields_of() {
  static const auto table = table_for(std::type_identity<S>{});
  return table.all;
}

/// Reads a value from a text, in the notation of its type and amount. \param option the field, for messages \throws RequestError
void parse_value(const ValueType& type, const std::string& text, std::string_view option, const Amount& amount, const Range& range,
                 void* out);
/// Equal in every part; records without == of their own in every member of their table.
[[nodiscard]] bool same_value(const ValueType& type, const void* a, const void* b);
/// Equal in every value of a table, those of member functions too; other members, kept for texts, are not compared.
[[nodiscard]] bool same_fields(std::span<const Field> fields, const void* a, const void* b);
template <HasFields S>
[[nodiscard]] bool same_fields(const S& a, const S& b) {
  return same_fields(fields_of<S>(), &a, &b);
}
/// Whether a request differs from its defaults in the field of this name.
[[nodiscard]] bool is_given(std::span<const Field> fields, const void* request, const void* defaults, std::string_view name);
template <HasFields Request>
[[nodiscard]] bool is_given(const Request& request, std::string_view name) {
  return is_given(fields_of<Request>(), &request, &one_of<Request>(), name);
}
/// A number, also inside an optional; empty for all else.
[[nodiscard]] std::optional<double> number_in(const ValueType& type, const void* value);

/// Checks that every number of a request lies in its range or is its default. Interfaces check earlier, while they still have the typed text.
/// \param numbers those of its fields \param defaults a request of which nothing is set \throws Refusal
void check_ranges(std::span<const Field* const> numbers, const void* request, const void* defaults);
/// The fields that number_in may find a number in.
[[nodiscard]] std::vector<const Field*> numbers_among(std::span<const Field> fields);
template <HasFields Request>
void check_ranges(const Request& request) {
  static const std::vector<const Field*> numbers = numbers_among(fields_of<Request>());  // every prediction is checked
  check_ranges(numbers, &request, &one_of<Request>());
}

/// Replaces the fields that texts of a value, or of any part of it, name in angle brackets.
void spell_fields(const ValueType& type, void* value, const Spelling& spelled);
template <class T>
void spell_fields(T& value, const Spelling& spelled) {
  spell_fields(value_type<T>, &value, spelled);
}

}  // namespace fabricost::core

namespace fabricost {
using core::Field;
using core::fields_of;
}  // namespace fabricost
