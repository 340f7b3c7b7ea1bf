#pragma once
/// Measured points as NumPy's structured arrays, and back.

#include "text.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>
#include <fabricost/readings/points.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fabricost::python {

/// A structured array with a field per column of a Point. Unknown texts are empty, flags -1, numbers 0.
[[nodiscard]] pybind11::array samples_of(const std::vector<Point>& points);

/// Points from such an array, a mapping of columns or a pandas.DataFrame; only bytes and seconds are
/// required.
/// \throws RequestError, TypeError naming the field
[[nodiscard]] std::vector<Point> points_of(pybind11::handle samples);

/// Texts as a number for each, and the list of texts that these count.
struct CodedTexts {
  pybind11::array_t<std::int32_t> codes;
  pybind11::list texts;
};
[[nodiscard]] CodedTexts coded(const std::vector<std::string_view>& texts);
/// Texts as an array of them.
[[nodiscard]] pybind11::array text_column(const std::vector<std::string_view>& texts);

/// get(row) for all rows; `get` may be a member. A text is one of the row's own.
template <class Row, class Get>
[[nodiscard]] std::vector<std::string_view> texts_of(const std::vector<Row>& rows, const Get& get) {
  static_assert(!std::same_as<std::invoke_result_t<const Get&, const Row&>, std::string>, "it would end before it is read");
  std::vector<std::string_view> out;
  out.reserve(rows.size());
  for (const Row& row : rows) out.push_back(std::invoke(get, row));
  return out;
}
/// The same as an array: texts, numbers, or quantities as numbers in their coherent units.
template <class Row, class Get>
[[nodiscard]] pybind11::array column_of(const std::vector<Row>& rows, const Get& get) {
  using T = std::remove_cvref_t<std::invoke_result_t<const Get&, const Row&>>;
  if constexpr (HasQuantities<T>) {
    return column_of(rows, [&](const Row& row) { return numbers_in(std::invoke(get, row)); });
  } else if constexpr (std::is_arithmetic_v<T>) {
    pybind11::array_t<T> out(static_cast<pybind11::ssize_t>(rows.size()));
    std::transform(rows.begin(), rows.end(), out.mutable_data(), [&](const Row& row) { return std::invoke(get, row); });
    return out;
  } else {
    return text_column(texts_of(rows, get));
  }
}
/// Columns of equal length as one structured array.
[[nodiscard]] pybind11::array structured(const std::vector<std::pair<const char*, pybind11::array>>& columns);

}  // namespace fabricost::python

namespace fabricost::core {
/// Parses samples, a file, or a list of these. Found by ADL from question.hpp. \throws TypeError, RequestError
void from_object(pybind11::handle given, std::string_view name, const Range&, std::vector<Sample>& out);
}  // namespace fabricost::core
