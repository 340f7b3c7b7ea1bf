#pragma once
/// \file rows.hpp
/// Published rows with the predictions of the shipped constants, and of fits that did not see them; the statistics of the page.

#include <fabricost/plan/evaluation/calibrate_training.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace training {

/// The errors of the fitted groups by a fit that goes without a constant.
struct Worth {
  std::string constant;  ///< empty: the factors of stacks and publishers
  double held = 0;  ///< the value at which its effect is gone, in SI units
  std::vector<fabricost::plan::TrainingRow> steps;
};

struct Published {
  std::vector<fabricost::plan::TrainingRow> steps;     ///< all of training.csv and what is fitted of the other two, predicted as shipped
  std::vector<fabricost::plan::TrainingRow> left_out;  ///< those of fitted groups, each by a fit without its group
  std::vector<fabricost::plan::TrainingRow> held_out;  ///< steps, by a fit without two fifths of all rows
  std::vector<fabricost::plan::TrainingRow> mlperf;    ///< second/workloads/mlperf.csv, by a fit without any of it
  std::vector<std::pair<std::string, std::vector<fabricost::plan::TrainingRow>>> submitters;  ///< MLPerf's fitted rows, by a fit without theirs
  std::vector<fabricost::plan::TrainingRow> adapters;  ///< NVIDIA's adapters of mlperf.csv, in no fit, predicted as shipped
  std::vector<Worth> worth;                      ///< a fit without each free constant, and one without the factors of stacks
  std::vector<fabricost::plan::TrainingRow> newer;     ///< second/workloads/newer_training.csv, predicted as shipped
  std::vector<fabricost::plan::OpsRow> kernels;        ///< all of ops.csv, predicted as shipped
  fabricost::plan::TrainingFit fit;                    ///< of all
  fabricost::plan::TrainingGroups groups;
  std::vector<std::string> fitted;  ///< groups of steps, judged ones first
};

/// \param folder holds workloads/{training,ops,inference}.csv and second/workloads/{mlperf,newer_training}.csv
/// \param refits whether to fit again without each group, each submitter and a part of the rows; otherwise nothing is left out or held out
/// \throws fabricost::core::Error when one is missing or malformed
[[nodiscard]] Published read_published(const std::string& folder, bool refits);

/// Two fifths of the ids, always the same: FNV-1a of the id, remainder by 5 below 2.
[[nodiscard]] bool is_held_out(std::string_view id);

/// Who submitted a row of MLPerf Training: "MLPerf Training v5.1, Dell, ..."; empty for other rows.
[[nodiscard]] std::string submitter_of(const fabricost::plan::TrainingRow& row);

/// Counted in errors: priced and fully specified.
[[nodiscard]] bool counts(const fabricost::plan::WorkloadRow& row);

/// Absolute errors in percent.
struct Errors {
  int n = 0;
  double median = 0, mean = 0;
};
/// \param factor on every prediction
[[nodiscard]] Errors errors_of(const std::vector<const fabricost::plan::WorkloadRow*>& rows, double factor = 1);
/// The factor that brings the median of log(predicted / measured) to zero.
[[nodiscard]] double one_scalar(const std::vector<const fabricost::plan::WorkloadRow*>& rows);
/// Spearman's rank correlation of predicted and measured, ties sharing their mean rank; 0 for fewer than two rows.
[[nodiscard]] double rank_correlation(const std::vector<const fabricost::plan::WorkloadRow*>& rows);
/// Share of measured values inside the interval.
[[nodiscard]] double coverage(const std::vector<const fabricost::plan::WorkloadRow*>& rows);

/// "3.4 / 5.2", or "-" for none.
[[nodiscard]] std::string pair(const Errors& e);

/// Medians and means of errors averaged over groups.
struct Average {
  double median = 0, mean = 0;
  int groups = 0;
  void add(const Errors& e) {
    if (e.n == 0) return;
    median += e.median;
    mean += e.mean;
    ++groups;
  }
  /// "5.47 / 6.76", or "-" for none.
  [[nodiscard]] std::string text() const;
};

/// Rows that count by group.
[[nodiscard]] std::map<std::string, std::vector<const fabricost::plan::WorkloadRow*>> by_group(const std::vector<fabricost::plan::TrainingRow>& rows);

}  // namespace training
