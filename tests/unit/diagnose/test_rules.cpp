/// The shipped rules: every name in them exists, every existing name is used, and every row can hold.

#include "catch.hpp"
#include "diagnose/rules.hpp"

using namespace fabricost::observe;
using namespace fabricost::observe::diagnosis;

TEST_CASE("every signal that the code computes is asked by a rule, or is a table of thresholds") {
  const Rules rules = load_rules();
  std::set<std::string> asked;
  const auto look = [&](const auto& row) {
    for (const Condition& one : row.when)
      for (const diagnosis::Term& term : one) asked.insert(term.name);
  };
  for (const RuleFile& file : rules.files) {
    for (const auto& group : file.groups) std::for_each(group.begin(), group.end(), look);
    for (const SettingRow& one : file.settings) look(one.row);
  }
  std::for_each(rules.questions.begin(), rules.questions.end(), look);
  for (const auto& signals :
       {network_signals(), node_signals(), run_signals(), setting_signals(), curve_signals(),
        quoted_signals(), expectation_signals(), rank_report_signals()})
    for (const Signal& one : signals) {
      INFO(one.name);
      CHECK((one.test == nullptr || asked.contains(std::string{one.name})));
    }
  // words that only tell that a file speaks of a run, or that code counts
  const std::set<std::string> unrequested{"engine_waits", "fabric_manager", "gdr_on", "ibnetdiscover", "no_event", "plugin_missing", "p2p_unsupported", "starting"};
  for (const Sign& one : rules.signs) {
    INFO(one.name);
    CHECK(asked.contains(one.name) != unrequested.contains(one.name));
  }
}

TEST_CASE("every rule has a name of its own, and every cause that a rule names is told apart from others by some question") {
  const Rules rules = load_rules();
  std::set<std::string> names;
  std::set<Cause> named,
      told{Cause::other, Cause::expected_value_wrong, Cause::small_message, Cause::cpu_launch_bound, Cause::wrong_machine};
  for (const RuleFile& file : rules.files)
    for (const auto& group : file.groups)
      for (const Row& row : group) {
        INFO(row.id);
        CHECK((row.id.find('.') != std::string::npos && names.insert(row.id).second));
        if (row.cause) named.insert(*row.cause);
      }
  for (const Question& one : rules.questions) {
    INFO(one.ask);
    std::set<Cause> of_one;
    for (const auto& group : one.groups)
      for (const Cause cause : group) CHECK(of_one.insert(cause).second);
    told.insert(of_one.begin(), of_one.end());
  }
  for (const Cause cause : named) {
    INFO(name(cause));
    CHECK(told.contains(cause));
  }
}

TEST_CASE("a row without a cause has a signal that names one") {
  for (const RuleFile& file : load_rules().files)
    for (const auto& group : file.groups)
      for (const Row& row : group) {
        INFO(row.evidence);
        CHECK((row.weight > 0 && row.weight <= 1));
        CHECK((row.cause || row.evidence.find("{variable}") != std::string::npos));
      }
}

TEST_CASE("a pattern needs all of its texts, none of the others, and upper or lower case only where it says so") {
  const Sign sign{"any", {{{"Rank", "lost"}, {"found"}, false}, {{"xid 79"}, {}, true}}};
  const auto carried = [&](const std::string& line, const std::string& folded) { return carries(sign, line, folded); };
  CHECK(carried("Rank 3 lost", "rank 3 lost"));
  CHECK_FALSE(carried("rank 3 lost", "rank 3 lost"));
  CHECK_FALSE(carried("Rank 3", "rank 3"));
  CHECK_FALSE(carried("Rank 3 lost and found", "rank 3 lost and found"));
  CHECK(carried("XID 79", "xid 79"));
}

TEST_CASE("values of a variable are told by word, beginning, part and size") {
  CHECK(ValueTest{}.fits("anything"));
  CHECK(ValueTest{{"LOC", "0"}, "", "", "", {}}.fits("loc"));
  CHECK_FALSE(ValueTest{{"LOC", "0"}, "", "", "", {}}.fits("local"));
  CHECK(ValueTest{{}, "RING", "", "", {}}.fits("ring,tree"));
  CHECK_FALSE(ValueTest{{}, "", "RING", "", {}}.fits("Ring"));
  CHECK(ValueTest{{}, "", "^", "128", {}}.fits("LL128"));
  CHECK_FALSE(ValueTest{{}, "", "^", "128", {}}.fits("^LL128"));
  CHECK(ValueTest{{}, "", "", "", 8}.fits("8"));
  for (const char* none : {"9", "0", "-1", "few", ""}) CHECK_FALSE(ValueTest{{}, "", "", "", 8}.fits(none));
}
