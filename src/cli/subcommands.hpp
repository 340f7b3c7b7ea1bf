#pragma once
/// \file subcommands.hpp
/// All subcommands. Each has a file of its name, which adds its options and its job to the runner.

namespace CLI {
class App;
}

namespace fabricost::cli {

class Runner;

/// In the order of help, one line per subcommand. X(cost) declares add_cost; a hyphen of the word is _ here.
#define FABRICOST_SUBCOMMANDS(X) \
  X(systems)                     \
  X(models)                      \
  X(show)                        \
  X(predict)                     \
  X(explain)                     \
  X(sweep)                       \
  X(share)                       \
  X(transfer)                    \
  X(validate)                    \
  X(calibrate)                   \
  X(measure)                     \
  X(plan)                        \
  X(compare)                     \
  X(need)                        \
  X(project)                     \
  X(explore)                     \
  X(tune)                        \
  X(diagnose)                    \
  X(trace)                       \
  X(topo)                        \
  X(pipeline)                    \
  X(goodput)                     \
  X(stragglers)                  \
  X(cost)                        \
  X(report)                      \
  X(completion)

#define FABRICOST_DECLARE(name) void add_##name(CLI::App& app, Runner& runner);
FABRICOST_SUBCOMMANDS(FABRICOST_DECLARE)
#undef FABRICOST_DECLARE

}  // namespace fabricost::cli
