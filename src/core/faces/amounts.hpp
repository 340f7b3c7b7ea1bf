#pragma once
/// \file amounts.hpp
/// Short names for reading and printing amounts with units (text/amounts.hpp).

#include "text/amounts.hpp"

namespace fabricost::faces {

using io::count_of, io::count_text, io::dollars_text, io::duration_of, io::duration_text, io::large_count_of, io::large_text, io::length_of,
    io::number_from, io::share_of, io::one_way_rate_of, io::size_of, io::sizes_of, io::storage_rate_of, io::whole_number_from;

}  // namespace fabricost::faces
