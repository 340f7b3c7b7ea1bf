#pragma once
/// \file traffic_exchange.hpp
/// All-to-all traffic counted by groups: with m of n ranks below a link, m (n - m) messages each way.

#include <fabricost/network/traffic_counter.hpp>

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/network/traffic_exchange-inl.hpp>
#endif
