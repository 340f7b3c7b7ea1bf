#pragma once
/// \file asked.hpp
/// Arguments of the workload half of the package, on top of arguments.hpp: optional ones, machines and models by name, and a search run
/// with the GIL released.

#include "arguments.hpp"

#include <fabricost/answers/fields.hpp>
#include <fabricost/economics/unmet.hpp>
#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/interrupt.hpp>
#include <fabricost/kernels/stack.hpp>
#include <fabricost/model/model.hpp>
#include <fabricost/specs/stacks.hpp>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::python {

inline constexpr double most_counted = 10'000'000;  ///< of anything counted in whole numbers, as the command has it

[[nodiscard]] inline pybind11::module_ numpy() { return pybind11::module_::import("numpy"); }

/// \throws ImportError naming the extra to install
[[nodiscard]] inline pybind11::object pandas() { return pybind11::module_::import("fabricost._extras").attr("module")("pandas"); }

/// An array of NumPy's own class, without units and with nothing masked (fabricost/_given.py). \param unit that it counts in; null: the one
/// that its name ends with \throws RequestError, TypeError
[[nodiscard]] inline pybind11::array plain_array(pybind11::handle given, std::string_view name, const char* unit = nullptr) {
  return pybind11::array(pybind11::module_::import("fabricost._given").attr("numbers")(given, name, unit));
}

/// A whole number of a range.
[[nodiscard]] int whole(pybind11::handle value, std::string_view name, double least = 1, double most = most_counted);
/// A number of a range; infinity where it is not above `most`.
[[nodiscard]] double real(pybind11::handle value, std::string_view name, double least, double most);
[[nodiscard]] bool flag(pybind11::handle value, std::string_view name);
[[nodiscard]] std::string text(pybind11::handle value, std::string_view name);

/// Many numbers, of a list, a tuple or an array; one or more.
[[nodiscard]] std::vector<double> reals(pybind11::handle values, std::string_view name, double least, double most);

/// None is nothing.
[[nodiscard]] std::optional<int> whole_or_none(pybind11::handle value, std::string_view name, double least = 1, double most = most_counted);
[[nodiscard]] std::optional<double> real_or_none(pybind11::handle value, std::string_view name, double least, double most);
[[nodiscard]] std::optional<bool> flag_or_none(pybind11::handle value, std::string_view name);
[[nodiscard]] std::optional<std::string> text_or_none(pybind11::handle value, std::string_view name);

/// \throws TypeError for an argument that was left out; `how` it is written
void needed(pybind11::handle value, std::string_view name, std::string_view how);

/// A System, or its name or path. \throws SpecError, RequestError as load_system
[[nodiscard]] System system_from(pybind11::handle value, std::string_view name = "system");
/// A Model, or its name or path. \throws as load_model
[[nodiscard]] Model model_from(pybind11::handle value, std::string_view name = "model");
/// A Stack, or its name or path. \throws as load_stack
[[nodiscard]] Stack stack_from(pybind11::handle value, std::string_view name = "stack");

/// One of an enum's names. `what`: with its article. \throws RequestError naming the argument and the names near
template <class Enum, class Names>
[[nodiscard]] Enum word(pybind11::handle value, std::string_view name, std::string_view what, const Names& names) {
  const std::string given = text(value, name);
  const auto found = fabricost::detail::parse_enum<Enum>(given, names);
  if (!found) throw RequestError(fmt::format("{}: {}", name, cli::unknown_text(given, what, cli::listed(names))));
  return *found;
}
template <class Enum, class Names>
[[nodiscard]] std::optional<Enum> word_or_none(pybind11::handle value, std::string_view name, std::string_view what, const Names& names) {
  if (value.is_none()) return std::nullopt;
  return word<Enum>(value, name, what, names);
}

/// The command's messages name its options; here they are arguments: "--global-batch" is "global_batch".
[[nodiscard]] std::string in_python(std::string text);

/// Raises what Python's signal handlers raise, KeyboardInterrupt for Ctrl-C: called by a search without the GIL, it looks now and then.
void raise_signals();

/// Runs the search with the GIL released, so that Ctrl-C ends it; its faults name arguments.
template <class Search>
[[nodiscard]] auto searched(Search&& search) {
  try {
    const pybind11::gil_scoped_release released;
    const InterruptWith interrupts{&raise_signals};
    return search();
  } catch (const SpecError&) {
    throw;
  } catch (const Refusal&) {
    throw;  // names fields
  } catch (const RequestError& error) {
    throw RequestError(in_python(error.what()));
  }
}

}  // namespace fabricost::python
