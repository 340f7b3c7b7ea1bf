#pragma once
/// Fuzz targets: a name and a function that takes any bytes. A function returns if the bytes were read or
/// refused with a message; it aborts, or throws anything but a fabricost::core::Error, if they broke something.
/// Called by libfuzzer.cpp and replay.cpp.

#include <fabricost/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace fuzz {

struct Target {
  const char* name;
  void (*run)(std::string_view bytes);
  const char* seeds = "";  ///< files or folders of the project, separated by blanks, that are inputs beside corpus/NAME and found/NAME
};

// One list per source file.
[[nodiscard]] std::span<const Target> spec_targets();
[[nodiscard]] std::span<const Target> text_targets();
[[nodiscard]] std::span<const Target> log_targets();
[[nodiscard]] std::span<const Target> topology_targets();
[[nodiscard]] std::span<const Target> table_targets();
[[nodiscard]] std::span<const Target> evidence_targets();
[[nodiscard]] std::span<const Target> command_targets();

/// The target of that name, or nullptr.
[[nodiscard]] const Target* target_named(std::string_view name);

/// Calls `use` with every target.
template <class Use>
void for_each_target(Use&& use) {
  for (const std::span<const Target> targets :
       {spec_targets(), text_targets(), log_targets(), topology_targets(), table_targets(), evidence_targets(), command_targets()})
    for (const Target& target : targets) use(target);
}

/// Aborts with a sentence if a condition does not hold.
inline void require(bool holds, const std::string& sentence) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", sentence.c_str());
  std::abort();
}

/// Calls `job`; a refusal is accepted if its message is neither empty nor excessively long.
template <class Job>
void tolerate(Job&& job) {
  try {
    job();
  } catch (const fabricost::core::Error& error) {
    const std::string_view text = error.what();
    require(text.size() > 10, "a refusal says why");
    require(text.size() < 200'000, "a refusal can be read");
    require(text.find('\0') == std::string_view::npos && text.find('\x1b') == std::string_view::npos,
            "a refusal holds no bytes that a terminal acts on");
  }
}

}  // namespace fuzz
