// Questions asked from C++ as the command and Python ask them: machines, machines read from files, logs.
#include <fabricost/fields/field.hpp>
#include <fabricost/observe/answers/topo.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/plan/answers/tune.hpp>

#include "support/message_of.hpp"

#include <catch.hpp>

using namespace fabricost::observe;
using support::message_of;

TEST_CASE("a rule names fields, and its message has their own names") {
  CHECK(message_of([] { (void)answer(TuneRequest{}); }) == "which machine? Add system = NAME; fabricost machine lists the names");
  CHECK(message_of([] { (void)answer(DiagnoseRequest{}); }).starts_with("which log?"));
  CHECK(message_of([] { (void)answer(TopoRequest{}); }).starts_with("which file?"));
}

TEST_CASE("what a field holds by default need not lie in its range, anything else must") {
  CHECK_NOTHROW(check_ranges(TuneRequest{}));  // ranks = 0: all of the nodes
  TuneRequest negative;
  negative.ranks = -1;
  CHECK_THROWS_AS(check_ranges(negative), Refusal);
}
