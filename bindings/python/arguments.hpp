#pragma once
/// The accepted types of arguments, and the exceptions that name the argument for any other type:
///
///   text      str (including an enum whose members are str, such as fc.Algorithm)
///   number    int, float, NumPy's scalars, objects with __float__ or __index__; never bool, str, complex, None, NaN; a value or
///             a str with units is converted to those the argument's name ends with, or refused (fabricost/_given.py)
///   count     the same for whole numbers from 0 to 2^31 - 1
///
/// TypeError for a wrong type, RequestError (a ValueError) for a wrong value: "ranks: -1 is negative; ...".

#include "text.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/progress.hpp>
#include <fabricost/plan/kernels/stack.hpp>
#include <fabricost/plan/model/model.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::python {

/// TypeError: "ranks: a whole number is wanted, not str".
[[noreturn]] void throw_type(std::string_view argument, std::string_view wanted, pybind11::handle given);

/// The C++ value that an object of Python holds; null where it is of another class.
template <class T>
[[nodiscard]] const T* held(pybind11::handle given) {
  pybind11::detail::make_caster<T> caster;
  return caster.load(given, false) ? &pybind11::detail::cast_op<const T&>(caster) : nullptr;
}

/// The text of a str, which it lives as long as. \throws TypeError
[[nodiscard]] std::string_view text_of(pybind11::handle given, std::string_view argument);

/// Whether it is a str or os.PathLike.
[[nodiscard]] inline bool is_path(pybind11::handle given) {
  return PyUnicode_Check(given.ptr()) != 0 || pybind11::hasattr(given, "__fspath__");
}
/// The path of such. \throws TypeError naming the argument
[[nodiscard]] std::string path_of(pybind11::handle path, std::string_view argument);
/// The path of a file. \throws the same, RequestError for an empty one
[[nodiscard]] std::string file_of(pybind11::handle path, std::string_view argument);
/// Whether it is a sequence, and no text.
[[nodiscard]] inline bool is_list(pybind11::handle given) {
  return PyUnicode_Check(given.ptr()) == 0 && pybind11::isinstance<pybind11::sequence>(given);
}

/// A real number, NaN refused. \throws TypeError, RequestError
[[nodiscard]] double number_of(pybind11::handle given, std::string_view argument);

/// A whole number from `min` to 2^31 - 1. \throws TypeError, RequestError
[[nodiscard]] int count_of(pybind11::handle given, std::string_view argument, int min = 0);

inline constexpr double max_counted = 10'000'000;  ///< maximum of any whole number, as in the command

[[nodiscard]] inline pybind11::module_ numpy() { return pybind11::module_::import("numpy"); }

/// What a function of a module of the package gives.
template <class... Arguments>
[[nodiscard]] pybind11::object by_python(const char* module, const char* function, const Arguments&... arguments) {
  return pybind11::module_::import((std::string{"fabricost."} + module).c_str()).attr(function)(arguments...);
}

/// A pandas.DataFrame with the units of its columns (fabricost/_given.py). \throws ImportError naming the extra to install
[[nodiscard]] inline pybind11::object frame_of(const pybind11::object& rows) { return by_python("_given", "table", rows); }

/// An array of NumPy's own class, without units and mask (fabricost/_given.py). \param unit of its numbers;
/// null: the one that its name ends with \throws RequestError, TypeError
[[nodiscard]] inline pybind11::array plain_array(pybind11::handle given, std::string_view name, const char* unit = nullptr) {
  return pybind11::array(by_python("_given", "numbers", given, name, unit));
}

/// A whole number of a range.
[[nodiscard]] int whole(pybind11::handle value, std::string_view name, double min = 1, double max = max_counted);
/// Tokens of a text: a whole number, or a str with k or M (text/amounts.hpp).
[[nodiscard]] int length(pybind11::handle value, std::string_view name, double min, double max);
/// A number from `min` to `max`.
[[nodiscard]] double real(pybind11::handle value, std::string_view name, double min, double max);
[[nodiscard]] bool flag(pybind11::handle value, std::string_view name);
[[nodiscard]] std::string text(pybind11::handle value, std::string_view name);

/// Many numbers, of a list, a tuple or an array; one or more.
[[nodiscard]] std::vector<double> reals(pybind11::handle values, std::string_view name, double min, double max);

/// A System, or its name or path. \throws SpecError, RequestError as load_system
[[nodiscard]] System system_from(pybind11::handle value, std::string_view name = "system");
/// A Model, or its name or path. \throws as load_model
[[nodiscard]] Model model_from(pybind11::handle value, std::string_view name = "model");
/// A Stack, or its name or path. \throws as load_stack
[[nodiscard]] Stack stack_from(pybind11::handle value, std::string_view name = "stack");

/// Raises what Python's signal handlers raise, KeyboardInterrupt for Ctrl-C: called by a search without the GIL, it looks now and then.
void raise_signals();

/// Runs the search with the GIL released, so that Ctrl-C ends it.
template <class Search>
[[nodiscard]] auto searched(Search&& search) {
  const pybind11::gil_scoped_release released;
  const InterruptWith interrupts{&raise_signals};
  return search();
}

}  // namespace fabricost::python
