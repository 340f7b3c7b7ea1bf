// Finding a target by its name.
#include "targets.hpp"

namespace fuzz {

const Target* target_named(std::string_view name) {
  const Target* found = nullptr;
  for_each_target([&](const Target& target) {
    if (name == target.name) found = &target;
  });
  return found;
}

}  // namespace fuzz
