#pragma once
/// \file machine_size.hpp
/// The number of GPUs of a machine, if its description states it. A cluster states `nodes` beyond one
/// scale-up domain; a server or rack may be requested in any number. A rack with a smaller domain by override
/// (gb200-nvl72 with domains of 8) has the nodes of the original domain, without a network between them.

#include <fabricost/error.hpp>
#include <fabricost/hardware/system.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace fabricost::core {

/// GPUs of a cluster: nodes x GPUs per node; empty for a server, a rack or a cluster without `nodes`.
[[nodiscard]] std::optional<long long> stated_gpus(const System& system);

/// `gpus` and those that are rented out with them: whole nodes, or more of a domain where its seller parts with no less.
[[nodiscard]] double with_rented_together(const System& system, double gpus);
/// Whether `gpus` leave a part of a domain of several nodes to other jobs. A slice of a torus is one job's own.
[[nodiscard]] bool takes_part_of_domain(const System& system, double gpus);

/// \throws RequestError for more GPUs than the machine has
void check_size(const System& system, double gpus);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/machine_size-inl.hpp>
#endif
