#pragma once
/// \file rate_units.hpp
/// Spellings of rates in logs and by users.

#include <array>
#include <string_view>

namespace fabricost::observe::diagnosis {

struct RateUnit {
  std::string_view name;
  double factor;      ///< bytes per second
  bool bits = false;  ///< whether it counts bits
};
inline constexpr std::array<RateUnit, 19> rate_units{{{"GB/s", 1e9},
                                                      {"GBps", 1e9},
                                                      {"GB/sec", 1e9},
                                                      {"GiB/s", 1 << 30U},
                                                      {"MB/s", 1e6},
                                                      {"TB/s", 1e12},
                                                      {"Gb/s", 1.25e8, true},
                                                      {"Gbps", 1.25e8, true},
                                                      {"Gbit/s", 1.25e8, true},
                                                      {"Gbits/s", 1.25e8, true},
                                                      {"Gb/sec", 1.25e8, true},
                                                      {"Gbit/sec", 1.25e8, true},
                                                      {"Mb/s", 1.25e5, true},
                                                      {"Mbit/s", 1.25e5, true},
                                                      {"Mbps", 1.25e5, true},
                                                      {"Tb/s", 1.25e11, true},
                                                      {"Tbit/s", 1.25e11, true},
                                                      {"Tbps", 1.25e11, true},
                                                      {"B/s", 1}}};

}  // namespace fabricost::observe::diagnosis
