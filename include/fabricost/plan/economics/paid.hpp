#pragma once
/// \file paid.hpp
/// The GPUs that a job pays for, wherever money, power or racks are counted: what is sold whole is paid for whole.
///
///   server          whole servers
///   rack            whole racks where it is bought, or where the job is no smaller; a smaller job rents nodes of it, or as many GPUs as
///                   the seller rents out together (System::rented_by)
///   slice           whole slices of a torus (hardware/slice.hpp); spares are more of the described tori, where these are racks
///   larger domain   whole nodes: it is several racks, which others may have
///
/// GPUs that a layout leaves idle (training/idle_gpus.hpp) are paid with them. Spare nodes of a rack are of its idle ones first.

#include <fabricost/plan/economics/cost.hpp>
#include <fabricost/hardware/machine_size.hpp>
#include <fabricost/hardware/slice.hpp>

#include <algorithm>
#include <cmath>

namespace fabricost::plan {

/// Whether a job rents a part of a rack: it is smaller, and nothing says that the rack is bought.
[[nodiscard]] bool rents_part(const System& system, double gpus, const Prices& prices);

/// GPUs that `gpus` pay for, themselves included. \param idle of the layout's domains \param standing_by in whole spare nodes
[[nodiscard]] double paid_gpus(const System& system, double gpus, const Prices& prices, double idle = 0, double standing_by = 0);

}  // namespace fabricost::plan

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/plan/economics/paid-inl.hpp>
#endif
