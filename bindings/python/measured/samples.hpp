#pragma once
/// \file samples.hpp
/// Measured points as NumPy's structured arrays, and back.

#include "text.hpp"

#include <fabricost/fields/samples.hpp>
#include <fabricost/readings/points.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fabricost::python {

/// A structured array with a field per column of a Point. Unknown texts are empty, flags -1, numbers 0.
[[nodiscard]] pybind11::array samples_of(const std::vector<Point>& points);

/// Points from such an array, a mapping of columns or a pandas.DataFrame; only bytes and seconds are
/// required.
/// \throws RequestError, TypeError naming the field
[[nodiscard]] std::vector<Point> points_of(pybind11::handle samples);

/// Texts as an array of them.
[[nodiscard]] pybind11::array text_column(const std::vector<std::string_view>& texts);
/// Numbers as an array.
template <class Number>
[[nodiscard]] pybind11::array number_column(const std::vector<Number>& numbers) {
  return pybind11::array_t<Number>(static_cast<pybind11::ssize_t>(numbers.size()), numbers.data());
}
/// The values of get(row) for all rows, as an array: texts or numbers.
template <class Row, class Get>
[[nodiscard]] pybind11::array column_of(const std::vector<Row>& rows, Get get) {
  using T = std::decay_t<decltype(get(rows.front()))>;
  std::vector<std::conditional_t<std::is_arithmetic_v<T>, T, std::string_view>> out;
  out.reserve(rows.size());
  for (const Row& row : rows) out.push_back(get(row));
  if constexpr (std::is_arithmetic_v<T>)
    return number_column(out);
  else
    return text_column(out);
}
/// Columns of equal length as one structured array.
[[nodiscard]] pybind11::array structured(const std::vector<std::pair<const char*, pybind11::array>>& columns);
/// The same as a pandas.DataFrame; pandas is imported here.
[[nodiscard]] pybind11::object data_frame(const pybind11::array& structured);

}  // namespace fabricost::python

namespace fabricost {
/// Parses samples, a file, or a list of these. Found by ADL from face.hpp. \throws TypeError, RequestError
void from_object(pybind11::handle given, std::string_view name, const Range&, std::vector<Sample>& out);
}  // namespace fabricost
