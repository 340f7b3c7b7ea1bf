#pragma once
/// \file traffic_rings.hpp
/// Who sends to whom in rings and trees: chains through each domain, along its wires if it has any, with a
/// separate channel for every NIC.

#include <fabricost/network/rings.hpp>
#include <fabricost/network/traffic_counter.hpp>

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/network/traffic_rings-inl.hpp>
#endif
