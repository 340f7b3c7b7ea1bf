#pragma once
/// Compares simulation and model: a price from the phases of a schedule with a hop and a rate per level,
/// without launch, floor or overlap, for a tiny, a middle and a huge message. Counts results that agree
/// exactly (1e-9) and within 3 %.

#include <fabricost/price/generic.hpp>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace flow {

/// Bytes: limited by latency; by both; by bandwidth.
inline constexpr double tiny_message = 1e-6, middle_message = 1e6, huge_message = 1e18;

struct Row {
  int combinations = 0, exact = 0, within = 0;
  double worst = 0;
  std::string worst_case;
};

class Table {
 public:
  /// \param error  the largest |modelled / simulated - 1| of one combination
  void add(const std::string& row, const std::string& what, double error) {
    Row& r = rows_[row];
    ++r.combinations;
    if (error <= 1e-9) ++r.exact;
    if (error <= 0.03) ++r.within;
    if (error >= r.worst) {
      r.worst = error;
      r.worst_case = what;
    }
  }
  [[nodiscard]] Row total() const {
    Row sum;
    for (const auto& [name, r] : rows_) {
      sum.combinations += r.combinations;
      sum.exact += r.exact;
      sum.within += r.within;
      if (r.worst >= sum.worst) {
        sum.worst = r.worst;
        sum.worst_case = name + ", " + r.worst_case;
      }
    }
    return sum;
  }
  void print() const {
    std::printf("%-46s %6s %6s %6s  %9s\n", "algorithm on fabric", "pairs", "1e-9", "3 %", "worst");
    for (const auto& [name, r] : rows_) print_row(name, r);
    print_row("all", total());
  }

 private:
  static void print_row(const std::string& name, const Row& r) {
    std::printf("%-46s %6d %6d %6d  %9.2g  %s\n", name.c_str(), r.combinations, r.exact, r.within, r.worst,
                r.worst > 1e-9 ? r.worst_case.c_str() : "");
  }
  std::map<std::string, Row> rows_;
};

struct Costs {
  fabricost::core::LevelCost inner, outer;
};
inline double modelled(const fabricost::core::Schedule& schedule, const Costs& costs, double bytes) {
  return fabricost::core::price_phases(schedule, {costs.inner, costs.outer}, 0, 0, 1)(bytes);
}
inline double off(double model, double simulated) { return std::fabs(model / simulated - 1); }

}  // namespace flow
