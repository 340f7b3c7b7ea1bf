// The minimiser alone, on problems whose answers are known.
#include "calibrate/least_squares.hpp"

#include "support/random_cases.hpp"

#include "catch.hpp"

#include <Eigen/Dense>

using namespace fabricost::core;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

struct Linear : LeastSquaresProblem {
  MatrixXd a;
  VectorXd b;
  Linear(MatrixXd factors, VectorXd right) : a(std::move(factors)), b(std::move(right)) {}
  [[nodiscard]] VectorXd residuals(const VectorXd& u) const override { return a * u - b; }
  [[nodiscard]] Jacobian jacobian(const VectorXd&) const override { return a; }
};

/// n equations of k unknowns, each of size `size`, that `truth` meets up to `miss`.
Linear equations(support::Random& random, int n, const VectorXd& truth, double size, double miss) {
  Linear out{MatrixXd(n, truth.size()), VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index k = 0; k < truth.size(); ++k) out.a(i, k) = random.uniform(-size, size);
  out.b = out.a * truth;
  for (Eigen::Index i = 0; i < n; ++i) out.b[i] += random.uniform(-miss, miss);
  return out;
}
VectorXd ones(Eigen::Index n) { return VectorXd::Ones(n); }

}  // namespace

TEST_CASE("a linear problem with a prior has the solution of its normal equations", "[calibrate]") {
  support::Random random{support::seed};
  for (int i = 0; i < 20; ++i) {
    INFO("case " << i);
    VectorXd truth(4);
    for (Eigen::Index k = 0; k < 4; ++k) truth[k] = random.uniform(-2, 2);
    // equations of few units: the prior has a say; residuals small enough that the loss is a square
    Linear problem = equations(random, 12, truth, 0.6, 0);
    const VectorXd small = 0.05 * problem.b;
    problem.b = small;
    const MatrixXd normal = problem.a.transpose() * problem.a + MatrixXd::Identity(4, 4);
    const VectorXd exact = normal.ldlt().solve(problem.a.transpose() * problem.b);
    const LeastSquares found = minimise(problem, VectorXd::Zero(4), ones(12));
    CHECK(found.converged);
    CHECK((found.unknowns - exact).norm() < 3e-3);  // it stops when a step is worth less than a millionth of the cost
    const MatrixXd covariance = (problem.a.transpose() * problem.a / (found.noise * found.noise) + MatrixXd::Identity(4, 4)).inverse();
    CHECK((found.covariance - covariance).norm() < 0.02 * covariance.norm());
  }
}

TEST_CASE("many precise equations outweigh the prior", "[calibrate]") {
  support::Random random{support::seed + 1};
  VectorXd truth(5);
  truth << 1.5, -2, 0.25, 3, -0.75;
  const Linear problem = equations(random, 60, truth, 40, 0.01);
  const LeastSquares found = minimise(problem, VectorXd::Zero(5), ones(60));
  CHECK(found.converged);
  CHECK((found.unknowns - truth).norm() < 5e-3);
  CHECK(found.cost == Approx(truth.squaredNorm()).epsilon(0.05));  // what is left is the prior's share
}

TEST_CASE("an unknown no equation speaks of stays at the prior with the prior's deviation", "[calibrate]") {
  support::Random random{support::seed + 2};
  VectorXd truth(3);
  truth << 1, -1, 0;
  Linear problem = equations(random, 30, truth, 20, 0.1);
  problem.a.col(2).setZero();
  const LeastSquares found = minimise(problem, VectorXd::Constant(3, 0.5), ones(30));
  CHECK(std::fabs(found.unknowns[2]) < 3e-3);
  CHECK(found.covariance(2, 2) == Approx(1));
  CHECK(found.covariance(0, 0) < 0.01);
}

TEST_CASE("without an equation the prior is the answer", "[calibrate]") {
  const Linear nothing{MatrixXd(0, 3), VectorXd(0)};
  const LeastSquares found = minimise(nothing, VectorXd::Constant(3, 2.0), VectorXd(0));
  CHECK(found.unknowns.norm() < 3e-3);
  CHECK((found.covariance - MatrixXd::Identity(3, 3)).norm() < 1e-12);
}

TEST_CASE("one wild point moves the answer less than a tenth of what squares would", "[calibrate]") {
  support::Random random{support::seed + 3};
  VectorXd truth(2);
  truth << 0.5, -0.5;
  Linear problem = equations(random, 40, truth, 10, 0.3);
  const LeastSquares calm = minimise(problem, VectorXd::Zero(2), ones(40));
  problem.b[7] += 300;
  const LeastSquares wild = minimise(problem, VectorXd::Zero(2), ones(40));
  const VectorXd squares = (problem.a.transpose() * problem.a + MatrixXd::Identity(2, 2)).ldlt().solve(problem.a.transpose() * problem.b);
  CHECK((wild.unknowns - calm.unknowns).norm() < 0.02);
  CHECK((wild.unknowns - calm.unknowns).norm() < 0.1 * (squares - calm.unknowns).norm());
  CHECK(wild.noise < 1.2 * calm.noise);  // nor does it pass for noise
}

TEST_CASE("a residual of no weight changes nothing", "[calibrate]") {
  support::Random random{support::seed + 4};
  VectorXd truth(2);
  truth << 1, 2;
  Linear problem = equations(random, 20, truth, 10, 0.3);
  const LeastSquares without = minimise(problem, VectorXd::Zero(2), ones(20));
  Linear more = problem;
  more.a.conservativeResize(25, Eigen::NoChange);
  more.b.conservativeResize(25);
  VectorXd weight = ones(25);
  for (Eigen::Index i = 20; i < 25; ++i) {
    more.a.row(i) << 3, -7;
    more.b[i] = 1e6;
    weight[i] = 0;
  }
  const LeastSquares with = minimise(more, VectorXd::Zero(2), weight);
  CHECK((with.unknowns - without.unknowns).norm() < 1e-9);
  CHECK((with.covariance - without.covariance).norm() < 1e-9);
}

TEST_CASE("a curved valley is followed to its bottom", "[calibrate]") {
  // Rosenbrock's valley, steep enough that the prior does not matter
  struct Valley : LeastSquaresProblem {
    double steep = 100;
    [[nodiscard]] VectorXd residuals(const VectorXd& u) const override {
      VectorXd r(2);
      r << steep * 10 * (u[1] - u[0] * u[0]), steep * (1 - u[0]);
      return r;
    }
    [[nodiscard]] Jacobian jacobian(const VectorXd& u) const override {
      MatrixXd j(2, 2);
      j << -steep * 20 * u[0], steep * 10, -steep, 0;
      return j;
    }
  };
  for (const double x : {-1.2, 0.0, 2.0, 3.0})
    for (const double y : {1.0, -3.0, 0.0}) {
      INFO("from " << x << " " << y);
      VectorXd start(2);
      start << x, y;
      Valley valley;
      const LeastSquares found = minimise(valley, start, ones(2), 2000);
      CHECK(found.converged);
      CHECK(found.unknowns[0] == Approx(1).epsilon(0.01));
      CHECK(found.unknowns[1] == Approx(1).epsilon(0.02));
    }
}

TEST_CASE("more spread in the residuals means wider errors", "[calibrate]") {
  support::Random random{support::seed + 5};
  VectorXd truth(2);
  truth << 1, -1;
  support::Random again = random;
  const Linear quiet = equations(random, 400, truth, 10, 0.5), loud = equations(again, 400, truth, 10, 5);
  const LeastSquares calm = minimise(quiet, VectorXd::Zero(2), ones(400));
  const LeastSquares rough = minimise(loud, VectorXd::Zero(2), ones(400));
  CHECK(rough.noise > 3 * calm.noise);
  CHECK(rough.covariance(0, 0) > 9 * calm.covariance(0, 0));
}

TEST_CASE("the same problem has the same answer to the last bit", "[calibrate]") {
  support::Random random{support::seed + 6};
  VectorXd truth(4);
  truth << 1, -1, 2, 0.5;
  const Linear problem = equations(random, 50, truth, 5, 2);
  const LeastSquares one = minimise(problem, VectorXd::Zero(4), ones(50));
  const LeastSquares two = minimise(problem, VectorXd::Zero(4), ones(50));
  CHECK(one.steps == two.steps);
  CHECK((one.unknowns.array() == two.unknowns.array()).all());
  CHECK((one.covariance.array() == two.covariance.array()).all());
}
