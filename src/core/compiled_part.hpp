#pragma once
/// The data of the package that a program was compiled with.

namespace fabricost::core {

/// As remember_package_data was told; nullptr: nothing.
[[nodiscard]] const char* package_data() noexcept;

}  // namespace fabricost::core
