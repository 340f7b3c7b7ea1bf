#pragma once
/// Constants of training over several sites (data/workloads/sites.yaml).

#include <fabricost/compiled_part.hpp>

namespace fabricost::plan {

struct SiteFacts {
  double delay = 0;                      ///< s per km of fibre, one way
  double steps = 0;                      ///< of a round where none are given
  double plain = 0, plain_power = 0;     ///< loss of data parallelism: plain N^-plain_power of N parameters
  double outer = 0, outer_power = 0;     ///< of DiLoCo on S sites: outer N^-outer_power S^sites_power
  double sites_power = 0;
  double largest = 0, most_sites = 0;    ///< model and number of sites that runs confirm
};

/// \throws SpecError
[[nodiscard]] SiteFacts load_site_facts();

}  // namespace fabricost::plan
