/// \file systems.cpp
/// Lists every machine of the catalogue by the outline of its file.

#include "specs/store.hpp"

#include <fabricost/answers/systems.hpp>
#include <fabricost/specs/load.hpp>

namespace fabricost::core {

std::vector<ListedSystem> answer(const SystemsRequest& /*request*/) {
  std::vector<ListedSystem> out;
  SpecStore library;
  for (const SystemName& one : system_names()) {
    const System system = load_outline(library, one.name);
    const Tier* tier = system.tier(TierRole::scale_up);
    out.push_back({system.name, system.gpus(), system.domain, std::string{tier != nullptr ? name(tier->kind) : "none"}, system.title,
                   system.gpu.vendor, one.cluster});
  }
  return out;
}

}  // namespace fabricost::core
