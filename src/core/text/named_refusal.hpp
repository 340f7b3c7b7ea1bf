#pragma once
/// Errors of one of several things, with its name in front.

#include <fabricost/error.hpp>

#include <string>

namespace fabricost::core {

/// work(), whose refusal names what it is of: "tp: 3 ranks do not ...". \throws as `work`
template <class Work>
void with_name_in_errors(const std::string& name, Work&& work) {
  try {
    work();
  } catch (const Refusal& error) {
    throw Refusal(name + ": " + error.text());
  } catch (const RequestError& error) {
    throw RequestError(name + ": " + error.what());
  }
}

}  // namespace fabricost::core
