#pragma once
/// Numbers that whoever runs a test sets in its environment: how many random questions, and where they start.

#include <cstdlib>

namespace support {

/// The number in an environment variable; `otherwise` where it is not set.
inline long long number_of(const char* variable, long long otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

}  // namespace support
