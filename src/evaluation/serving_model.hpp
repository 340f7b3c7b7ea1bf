#pragma once
/// \file serving_model.hpp
/// Published serving runs as a function of constants: what frameworks add, what inference alone has of each GPU generation, and, in a fit
/// together with training steps, what kernels of both reach.

#include <fabricost/evaluation/inference.hpp>
#include <fabricost/serving/parameters.hpp>

#include <Eigen/Dense>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fabricost {

/// Runs ready to be priced again and again; the rows must outlive it.
class ServingModel {
 public:
  /// \param leave_out groups, or beginnings of their names
  ServingModel(const std::vector<InferenceRow>& rows, const std::vector<std::string>& leave_out);

  [[nodiscard]] Eigen::Index rows() const { return static_cast<Eigen::Index>(all_.size()); }
  [[nodiscard]] Eigen::Index size() const { return static_cast<Eigen::Index>(unknowns_.size()); }  ///< unknowns
  [[nodiscard]] Eigen::VectorXd weights() const;
  /// What kernels reach, by generation; without, and of generations not named, as the machines are calibrated.
  void reach(const std::map<Generation, ComputeConstants>& constants);
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& u);
  [[nodiscard]] Eigen::MatrixXd jacobian(const Eigen::VectorXd& u);
  /// What was found at `u`, with its errors.
  [[nodiscard]] ServingFit fit(const Eigen::VectorXd& u);
  std::map<std::string, int> skipped;  ///< rows by reason

 private:
  struct Priced {
    const InferenceRow* row;
    std::unique_ptr<InferenceJob> job;
    ServingMachine* machine;
    int generation = 0, stack = 0;
  };
  /// One unknown: a constant of a generation (or of all, -1), or of a stack on a generation (or on all).
  struct Unknown {
    const ServingParameter<ServingConstants>* gpu = nullptr;
    const ServingParameter<ServingStack>* framework = nullptr;
    int generation = -1, stack = -1;
    double share = 1;  ///< of the constant's spread
    [[nodiscard]] double spread() const { return share * (gpu != nullptr ? gpu->spread : framework->spread); }
  };
  void add(const InferenceRow& row);
  void list_unknowns();
  [[nodiscard]] const ServingStack& described(const std::string& name) const;
  void set(const Eigen::VectorXd& u);
  [[nodiscard]] double ratio(const Priced& p) const;
  template <class T>
  static int index_of(std::vector<T>& list, const T& wanted) {
    if (std::find(list.begin(), list.end(), wanted) == list.end()) list.push_back(wanted);
    return static_cast<int>(std::find(list.begin(), list.end(), wanted) - list.begin());
  }

  ServingTable table_;
  std::vector<Priced> all_;
  std::map<std::string, int> in_group_;
  std::vector<Generation> generations_;
  std::vector<std::string> names_;       ///< of stacks
  std::set<std::pair<int, int>> pairs_;  ///< of a stack and a generation
  std::map<std::pair<std::string, std::string>, std::pair<System, std::unique_ptr<ServingMachine>>> machines_;  ///< by system and stack
  std::vector<Unknown> unknowns_;
  std::vector<ServingConstants> gpus_;
  std::map<std::pair<int, int>, ServingStack> stacks_;
};

}  // namespace fabricost
