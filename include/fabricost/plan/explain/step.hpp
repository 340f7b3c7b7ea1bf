#pragma once
/// A training step explained: each term with its arithmetic, its group of ranks, their links and the changes that affect it; beside it the
/// layout that practitioners would take, with the differences.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/economics/terms.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::plan {

/// One term of a step. \see terms_of
struct ExplainedTerm : StepTerm {
  std::vector<std::string> how;  ///< sentences
  std::string helps;             ///< "arithmetic + 10 %: -8.1 %, ..."; empty: nothing of the machine moves it by 0.5 %
  bool operator==(const ExplainedTerm&) const = default;

  static AnswerTable<ExplainedTerm> fields();
};

struct ExplainedStep {
  double seconds = 0;
  std::vector<ExplainedTerm> terms;   ///< those above zero, the largest first
  std::optional<PricedLayout> usual;  ///< nothing: none fits
  std::string against_usual, interval;
};

/// \param priced a layout of plan_training(system, question)
[[nodiscard]] ExplainedStep explain_step(const System& system, const TrainingQuestion& question, const PricedLayout& priced);

/// The layout by the usual rule beside this one, as a sentence; in `usual` the layout, where one fits.
[[nodiscard]] std::string against_usual(const System& system, const TrainingQuestion& question, const PricedLayout& priced,
                                        std::optional<PricedLayout>& usual);

/// The same as text.
[[nodiscard]] std::string explain(const ExplainedStep& step);

/// What a stack's factor is on, as a sentence; empty for a factor of 1.
[[nodiscard]] std::string factor_text(const Stack& stack);

}  // namespace fabricost::plan
