// The plain arithmetic of arrays against the C library's long doubles.
#include <fabricost/elementary.hpp>
#include <fabricost/price/internode.hpp>
#include <fabricost/price/line.hpp>

#include "catch.hpp"

using namespace fabricost::plan;

namespace {
constexpr int tries = 200000;
}  // namespace

TEST_CASE("the binary logarithm is right to the last digits", "[price]") {
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> exponent{-1000, 1000};
  double worst = 0;
  for (int i = 0; i < tries; ++i) {
    const double x = std::exp2(exponent(random));
    const long double exact = std::log2(static_cast<long double>(x));
    worst =
        std::max(worst, static_cast<double>(std::fabs(fabricost::core::fast_log2(x) - exact) / std::max(1.0L, std::fabs(exact))));
  }
  CHECK(worst < 1e-15);
  CHECK(fabricost::core::fast_log2(1) == 0);
  for (const double edge : {std::sqrt(0.5), std::sqrt(2.0), 0.5, 2.0, 1 - 1e-16, 1 + 3e-16})
    for (const double x : {std::nextafter(edge, 0.0), edge, std::nextafter(edge, 4.0)})
      CHECK(fabricost::core::fast_log2(x) == Approx(static_cast<double>(std::log2(static_cast<long double>(x)))).margin(1e-15));
}

TEST_CASE("powers of two and decays are right to 1e-14", "[price]") {
  std::mt19937_64 random{2};
  std::uniform_real_distribution<double> power{-1000, 1000}, decay{0, 690};
  double worst = 0, worst_decay = 0;
  for (int i = 0; i < tries; ++i) {
    const double y = power(random), x = i % 2 == 0 ? decay(random) : 1e-3 * decay(random);
    worst =
        std::max(worst, static_cast<double>(std::fabs(fabricost::core::fast_exp2(y) / std::exp2(static_cast<long double>(y)) - 1)));
    worst_decay = std::max(worst_decay,
                           static_cast<double>(std::fabs(fabricost::core::fast_decay(x) - std::exp(-static_cast<long double>(x)))));
  }
  CHECK(worst < 1e-14);
  CHECK(worst_decay < 1e-14);
  CHECK(fabricost::core::fast_exp2(0) == 1);
}

TEST_CASE("the inverse sixth root is right to the last digits", "[price]") {
  double worst = 0;
  for (int i = 0; i <= tries; ++i) {
    const double s = static_cast<double>(i) / tries;
    const long double exact = std::pow(1 + static_cast<long double>(s), -1.0L / 6);
    worst = std::max(worst, static_cast<double>(std::fabs(fabricost::core::inverse_sixth_root(s) / exact - 1)));
  }
  CHECK(worst < 1e-15);
  CHECK(fabricost::core::scale_up_prior.form.tree_chain == Approx(static_cast<double>(std::pow(14.0L / 6, 1.1L))).epsilon(1e-15));
}

TEST_CASE("the norm of arrays is that of one size, to 2e-14", "[price]") {
  std::mt19937_64 random{3};
  std::uniform_real_distribution<double> ratio{-80, 80}, overlap{1, fabricost::core::max_fast_overlap};
  double worst = 0, worst_alone = 0;
  for (int i = 0; i < tries; ++i) {
    const double a = 1e-5, b = a * std::exp2(ratio(random)), q = overlap(random);
    const long double A = a, B = b, Q = q;
    const long double exact = std::max(A, B) * std::pow(1 + std::pow(std::min(A, B) / std::max(A, B), Q), 1 / Q);
    worst = std::max(worst, static_cast<double>(std::fabs(fabricost::core::fast_norm(a, b, q, 1 / q) / exact - 1)));
    worst_alone = std::max(worst_alone, static_cast<double>(std::fabs(norm(a, b, q) / exact - 1)));
  }
  CHECK(worst < 2e-14);
  CHECK(worst_alone < 4e-15);
  CHECK(fabricost::core::fast_norm(0, 0, 1.3, 1 / 1.3) == 0);
  CHECK(fabricost::core::fast_norm(0, 2, 1.3, 1 / 1.3) == Approx(2).epsilon(1e-14));
  CHECK(fabricost::core::fast_norm(3, 0, 12, 1.0 / 12) == Approx(3).epsilon(1e-14));
  CHECK(norm(0, 2, 1.3) == 2);
}
