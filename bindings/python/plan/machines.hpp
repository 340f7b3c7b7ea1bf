#pragma once
/// Several machines and a user's own prices of them, as given in Python.

#include "question.hpp"

#include <fabricost/plan/answers/design/project.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

inline void from_object(pybind11::handle given, std::string_view name, const Range&, std::vector<Machine>& out) {
  if (!python::is_list(given)) python::throw_type(name, "a list of machines", given);
  for (const pybind11::handle one : given) out.emplace_back(python::system_from(one, name));
  if (out.empty()) throw RequestError("systems: which machines? Name two or more, as in [\"dgx-b200\", \"gb200-nvl72\"]");
}

}  // namespace fabricost::core

namespace fabricost::plan {

/// A list of machines, or one.
inline void from_object(pybind11::handle given, std::string_view name, const Range& range, Machines& out) {
  if (python::is_list(given))
    from_object(given, name, range, out.all);
  else
    out.all.emplace_back(python::system_from(given, name));
}

/// Dollars per GPU-hour by machine.
inline void from_object(pybind11::handle given, std::string_view name, const Range&, std::vector<OwnPrice>& out) {
  if (!pybind11::isinstance<pybind11::dict>(given)) python::throw_type(name, "a dict of machines' names and dollars per GPU-hour (compare takes a file as prices_file)", given);
  for (const auto& [key, value] : pybind11::reinterpret_borrow<pybind11::dict>(given))
    out.push_back({python::text(key, name), python::real(value, name, 1e-6, 1e6)});
}

/// Days by machine.
inline void from_object(pybind11::handle given, std::string_view name, const Range&, std::vector<OwnDelivery>& out) {
  if (!pybind11::isinstance<pybind11::dict>(given))
    python::throw_type(name, "a dict of machines' names and days, as in \"2027-03-31\"", given);
  for (const auto& [key, value] : pybind11::reinterpret_borrow<pybind11::dict>(given))
    out.push_back({python::text(key, name), python::text(pybind11::str(value), name)});
}

}  // namespace fabricost::plan

namespace fabricost::python {

inline void add_machines_argument_types() {
  add_argument_type<std::vector<fabricost::core::Machine>>("Any", false, &no_items);
  add_argument_type<Machines>("System | _Path | Iterable[System | _Path]");
  add_argument_type<std::vector<OwnPrice>>("Any");
  add_argument_type<std::vector<OwnDelivery>>("Any");
}

}  // namespace fabricost::python
