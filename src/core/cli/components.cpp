/// \file components.cpp
/// The components of this build: FABRICOST_WITH_PLAN and the like are set by its CMakeLists.

#include "cli/subcommands.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::cli {

std::span<const Component* const> components() {
  static constexpr std::array built{&core_commands,
#ifdef FABRICOST_WITH_PLAN
                                    &plan_commands,
#endif
#ifdef FABRICOST_WITH_OBSERVE
                                    &observe_commands,
#endif
#ifdef FABRICOST_WITH_PROBES
                                    &probes_commands,
#endif
  };
  return built;
}

namespace {

[[nodiscard]] bool is_built(std::string_view component) {
  const auto built = components();
  return std::any_of(built.begin(), built.end(), [&](const Component* one) { return one->name == component; });
}

}  // namespace

std::string left_out_text(std::string_view command) {
  const auto listed = std::find_if(command_names.begin(), command_names.end(), [&](const CommandName& one) { return one.name == command; });
  if (listed == command_names.end() || is_built(listed->component)) return {};
  return fmt::format("{} is of the component {}, which this build leaves out; configure with -DFABRICOST_COMPONENTS={} to have it", command,
                     listed->component, listed->component);
}

std::string left_out_help() {
  std::string out;
  for (const std::string_view component : {"plan", "observe", "probes"}) {
    if (is_built(component)) continue;
    out += fmt::format("\nNot in this build, with -DFABRICOST_COMPONENTS={0}:", component);
    for (const CommandName& one : command_names)
      if (one.component == component) out += fmt::format(" {}", one.name);
  }
  return out;
}

}  // namespace fabricost::cli
