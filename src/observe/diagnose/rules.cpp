/// Reads data/diagnosis. A name that is neither sign nor signal, an unused or missing threshold, and a {fact} that no condition of its row
/// provides are faults of the file, reported when it is read.

#include "diagnose/rules.hpp"
#include "specs/near_or_all.hpp"

#include "specs/read_once.hpp"
#include "specs/reader.hpp"
#include "specs/store.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"

#include <fabricost/on_threads.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace fabricost::observe::diagnosis {

namespace {

/// Signs that the log reader computes, or that signals depend on.
constexpr std::array<std::string_view, 13> needed_signs{"communicator_made", "engine_waits",     "error_line",    "fatal_line",
                                                        "ibnetdiscover",
                                                        "link_downgraded",   "no_event",         "p2p_unsupported",
                                                        "protection_error",  "retries_exceeded",
                                                        "served",            "starting",         "verbs_missing"};

/// A failure's evidence is its line, unless its row says more.
Row preset(Role role) { return {.role = role, .evidence = role == Role::failure ? "{line}" : ""}; }

/// One text, or a list of them.
std::vector<std::string> one_or_more(MapReader& in, std::string_view key) {
  const SpecNode* value = in.node().find(key);
  if (value == nullptr || value->kind == SpecNode::Kind::scalar) {
    std::string one = in.text(key);
    return one.empty() ? std::vector<std::string>{} : std::vector{std::move(one)};
  }
  return in.plain_texts(key);
}

/// A rule's weight is the share of labelled cases in which it was right, where the weight as written counts like some cases more:
/// (right + n w) / (right + wrong + n), n `cases_of_a_weight` of comparison.yaml. Counts of a rule that is not there are a fault of their file.
void weigh_by_cases(Rules& rules, std::span<const SpecNode> trees, Faults& faults) {
  std::map<std::string, std::vector<Row*>, std::less<>> known;  // settings of one variable and cause share a name
  for (RuleFile& file : rules.files) {
    for (auto& group : file.groups)
      for (Row& row : group) known[row.id].push_back(&row);
    for (SettingRow& one : file.settings) known[one.row.id].push_back(&one.row);
  }
  const Numbers& judgement = rules.numbers.find("judgement")->second;
  const double written = judgement.get("cases_of_a_weight", 0);  // where it is missing, that is a fault already
  for (const SpecNode& tree : trees) {
    MapReader(tree, "", faults).each_item("counted", [&](MapReader& in) {
      const std::string name = in.text("rule", true);
      constexpr int most = 1000000;
      const double right = in.count("right", 0, 0, most), wrong = in.count("wrong", 0, 0, most);
      const auto found = known.find(name);
      if (found == known.end()) {
        std::vector<std::string> names;
        for (const auto& [id, rows] : known) names.push_back(id);
        return in.fault(in.node(), "rule", fmt::format("\"{}\" is no rule", clipped(name)),
                        nearest_or(name, names, "write the name of one, as the answer's `rule` says it"));
      }
      for (Row* row : found->second)
        if (right + wrong + written > 0) row->weight = (right + written * row->weight) / (right + wrong + written);
    });
  }
}

/// In two passes over all files: the named signs and signals, then the rules that use them.
class RuleReader {
 public:
  Rules read() {
    const std::vector<std::string> names = names_in("diagnosis");
    trees_.resize(names.size());
    on_threads(names.size(), processors(), [&](std::size_t i) { trees_[i] = SpecStore{}.resolve("diagnosis", names[i]); });
    for (const Signal* one : all_signals()) signals_[std::string{one->name}] = one;
    for (const SpecNode& tree : trees_) read_names(tree);
    for (const auto& [name, signal] : signals_) {
      Numbers& numbers = rules_.numbers[name];
      for (const Threshold& t : signal->thresholds)
        if (signal->test == nullptr && !numbers.has(t.name))
          missing(fmt::format("signals.{}.{}", name, t.name), "add it to one of its files");
    }
    for (const std::string_view sign : needed_signs)
      if (!is_sign(sign)) missing(fmt::format("signs.{}", sign), "the reader of logs names this sign: add it to one of its files");
    for (const SpecNode& tree : trees_) read_rules(tree);
    weigh_by_cases(rules_, trees_, faults_);
    faults_.raise();
    std::stable_sort(rules_.files.begin(), rules_.files.end(), [](const RuleFile& a, const RuleFile& b) { return a.order < b.order; });
    return std::move(rules_);
  }

 private:
  void missing(std::string path, std::string remedy) {
    faults_.add({(store_.data() / "diagnosis").string(), 0, 0, std::move(path), "is missing", std::move(remedy), ""});
  }
  [[nodiscard]] bool is_sign(std::string_view name) const {
    return std::any_of(rules_.signs.begin(), rules_.signs.end(), [&](const Sign& s) { return s.name == name; });
  }

  void read_names(const SpecNode& tree) {
    MapReader in(tree, "", faults_);
    for (const std::string kind : {"signs", "facts"}) {
      const SpecNode* const signs = in.take(kind);
      if (signs == nullptr) continue;
      MapReader list(*signs, kind, faults_);
      for (const auto& [key, mark, value] : signs->entries) {
        list.take(key);
        if (is_sign(key)) list.fault(value, key, "is named twice", "add the patterns to the other one");
        if (signals_.contains(key)) list.fault(value, key, "is the name of a signal", "give it another name");
        rules_.signs.push_back(sign_of(key, value, fmt::format("{}.{}", kind, key)));
        rules_.signs.back().fact = kind == "facts";
      }
      list.finish();
    }
    if (const SpecNode* signals = in.take("signals")) {
      MapReader list(*signals, "signals", faults_);
      for (const auto& [key, mark, value] : signals->entries) {
        const auto signal = signals_.find(key);
        if (signal == signals_.end()) continue;  // finish() names it
        list.take(key);
        read_numbers(value, "signals." + key, signal->second->thresholds, rules_.numbers[key]);
      }
      for (const auto& [name, signal] : signals_)
        if (signals->find(name) == nullptr) list.take(name);
      list.finish();
    }
  }

  void read_numbers(const SpecNode& node, const std::string& path, std::span<const Threshold> known, Numbers& into) {
    MapReader in(node, path, faults_);
    for (const Threshold& t : known) {
      std::vector<double> values;
      if (t.use == Threshold::Use::list) {
        for (const SpecNode* one : in.texts(t.name)) {
          const ParsedQuantity parsed = parse_quantity(one->text, t.kind);
          if (const auto* refusal = std::get_if<QuantityFault>(&parsed))
            in.fault(*one, t.name, refusal->message, refusal->remedy);
          else
            values.push_back(std::get<double>(parsed));
        }
      } else if (const auto value = in.quantity(t.name, t.kind)) {
        values.push_back(value->number);
      }
      if (!values.empty()) into.set(t.name, std::move(values));
    }
    in.finish();
  }

  Sign sign_of(std::string name, const SpecNode& list, const std::string& path) {
    Sign out{std::move(name), {}};
    if (list.kind != SpecNode::Kind::list)
      faults_.add(issue_at(list.mark, path, "is not a list of patterns", "write texts, or maps of all, none and any_case"));
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const SpecNode& item = list.items[i];
      Sign::Pattern pattern;
      if (item.kind == SpecNode::Kind::scalar) {
        pattern.all = {item.text};
      } else {
        MapReader in(item, fmt::format("{}[{}]", path, i), faults_);
        pattern.all = in.plain_texts("all");
        pattern.none = in.plain_texts("none");
        pattern.any_case = in.flag("any_case", false);
        if (pattern.all.empty()) in.fault(item, "all", "is missing", "write what the line holds");
        in.finish();
      }
      for (auto* some : {&pattern.all, &pattern.none})
        for (std::string& text : *some) {
          if (text.empty()) faults_.add(issue_at(item.mark, path, "holds an empty text, which is in every line", "leave it out"));
          if (pattern.any_case) text = lowered(std::move(text));
        }
      out.patterns.push_back(std::move(pattern));
    }
    return out;
  }

  void read_rules(const SpecNode& tree) {
    MapReader in(tree, "", faults_);
    for (const char* key : {"signs", "facts", "signals"}) in.take(key);
    if (const SpecNode* causes = in.take("causes")) {  // for the documentation
      MapReader list(*causes, "causes", faults_);
      for (const auto& [key, mark, value] : causes->entries) list.take(key);
    }
    in.text("notes");
    const std::string of = in.name("name", true);
    in.text("title", true);
    in.text("source", true);
    in.text("confidence", true);
    RuleFile file;
    file.order = in.count("order", 0, 0, 1000, true);
    file.other_runs = in.flag("other_runs", false);
    for (const auto& [key, role] : {std::pair{"rules", Role::hint}, std::pair{"failures", Role::failure}})
      if (const SpecNode* rules = in.take(key)) {
        if (rules->kind != SpecNode::Kind::list) in.fault(*rules, key, "is not a list of rules", "write `- cause: ...` below it");
        for (std::size_t i = 0; i < rules->items.size(); ++i)
          flatten(rules->items[i], fmt::format("{}[{}]", key, i), preset(role), Given{.role = role == Role::failure},
                  file.groups.emplace_back());
      }
    std::map<std::string, int> numbers;
    for (std::vector<Row>& group : file.groups)
      for (Row& row : group) {
        row.id = fmt::format("{}.{}", of, row.cause ? name(*row.cause) : "any");
        row.id += fmt::format(".{}", ++numbers[row.id]);
      }
    if (const SpecNode* set = in.take("settings")) read_settings(*set, file);
    in.each_item("questions", [&](MapReader& one) { read_question(one); });
    in.each_item("public_runs", [&](MapReader& one) { read_public_runs(one); });
    (void)in.take("counted");  // weigh_by_cases reads it when all rules are known
    in.each_item("helps", [&](MapReader& row) {
      rules_.helps.push_back({row.text("variable", true), value_test(row), row.choice("cause", cause_names, Cause::other, true)});
    });
    in.finish();
    rules_.files.push_back(std::move(file));
  }

  void read_public_runs(MapReader& in) {
    constexpr int most = 1000000;
    PublicRuns& one = rules_.public_runs.emplace_back();
    one.gpu = in.text("gpu", true);
    one.operation = in.text("operation", true);
    one.nodes = in.count("nodes", 1, 1, most, true);
    one.gpus = in.count("gpus", 1, 1, most, true);
    if (const auto rate = in.quantity("network", QuantityKind::link_rate)) one.network = rate->number;
    for (const SpecNode* text : in.texts("busbw")) {
      const double rate = parse_number(text->text).value_or(0);
      if (!(rate > 0)) in.fault(*text, "busbw", fmt::format("\"{}\" is no bandwidth", clipped(text->text)), "write a number of GB/s");
      one.bus.push_back(rate * 1e9);
    }
    if (one.bus.empty() || !std::is_sorted(one.bus.begin(), one.bus.end()))
      in.fault(in.node(), "busbw", "is empty, or not ascending", "write the runs' bus bandwidth in GB/s, the slowest first");
  }

  void read_question(MapReader& in) {
    Question& one = rules_.questions.emplace_back();
    one.ask = in.text("ask", true);
    one.tells = in.text("tells", true);
    const SpecNode* when = in.node().find("when");
    for (const std::string& text : one_or_more(in, "when")) one.when.push_back(condition(in, *when, text));
    if (const SpecNode* groups = in.take("groups", true))
      for (const SpecNode& group : groups->items) {
        std::vector<Cause>& causes = one.groups.emplace_back();
        for (const SpecNode& cause : group.kind == SpecNode::Kind::scalar ? std::vector{group} : group.items) {
          const auto at = std::find(cause_names.begin(), cause_names.end(), cause.text);
          if (at == cause_names.end()) in.fault(cause, "groups", fmt::format("\"{}\" is no cause", clipped(cause.text)), "name one");
          if (at != cause_names.end()) causes.push_back(static_cast<Cause>(at - cause_names.begin()));
        }
      }
  }

  struct Given {  ///< inherited from what surrounds a row
    bool weight = false, role = false;
    const SpecNode* at = nullptr;  ///< nearest thresholds
    std::string at_path{};
  };

  void flatten(const SpecNode& node, const std::string& path, Row row, Given given, std::vector<Row>& into) {
    MapReader in(node, path, faults_);
    read_row(in, path, row, given);
    if (const SpecNode* rows = in.take("first_of")) {
      in.finish();
      if (rows->kind != SpecNode::Kind::list || rows->items.empty())
        in.fault(*rows, "first_of", "is not a list of rules", "write rules below it, of which the first that holds speaks");
      for (std::size_t i = 0; i < rows->items.size(); ++i)
        flatten(rows->items[i], fmt::format("{}.first_of[{}]", path, i), row, given, into);
      return;
    }
    in.finish();
    complete(node, path, row, given);
    into.push_back(std::move(row));
  }

  void read_row(MapReader& in, const std::string& path, Row& row, Given& given) {
    if (in.has("cause")) row.cause = in.choice("cause", cause_names, Cause::other);
    (void)in.take("cause");
    given.weight = given.weight || in.has("weight");
    row.weight = in.fraction("weight", row.weight);
    given.role = given.role || in.has("as");
    row.role = in.choice("as", role_names, row.role);
    if (const SpecNode* at = in.take("at")) {
      given.at = at;
      given.at_path = path + ".at";
    }
    std::vector<Condition> own;
    if (const SpecNode* words = in.take("words")) {
      rules_.signs.push_back(sign_of(path, *words, path + ".words"));
      rules_.signs.back().name = fmt::format("{}:{}", words->mark.file ? words->mark.file->name : "", path);
      own.push_back({Term{false, rules_.signs.back().name}});
    }
    const SpecNode* when = in.node().find("when");
    for (const std::string& text : one_or_more(in, "when")) own.push_back(condition(in, *when, text));
    row.when.insert(row.when.end(), own.begin(), own.end());
    if (in.has("evidence")) row.evidence = in.text("evidence");
    if (in.has("remedy")) row.remedy = in.text("remedy");
    if (in.has("what")) row.what = in.text("what");
    row.event = in.flag("event", row.event);
    row.device = in.choice("device", of_device_names, row.device);
    for (const char* key : {"evidence", "remedy", "reason", "what", "source"}) (void)in.text(key);
  }

  Condition condition(MapReader& in, const SpecNode& at, std::string_view text) {
    Condition out;
    while (!text.empty()) {
      const auto or_at = text.find(" or ");
      std::string_view word = text.substr(0, or_at);
      text = or_at == std::string_view::npos ? std::string_view{} : text.substr(or_at + 4);
      Term term;
      if (word.starts_with("not ")) {
        term.negated = true;
        word.remove_prefix(4);
      }
      term.name = std::string{word};
      if (const auto signal = signals_.find(term.name); signal != signals_.end() && signal->second->test != nullptr) {
        term.signal = signal->second;
      } else if (!is_sign(word)) {
        std::vector<std::string> known;
        for (const Sign& one : rules_.signs) known.push_back(one.name);
        for (const auto& [name, one] : signals_) known.push_back(name);
        in.fault(at, "when", fmt::format("\"{}\" is neither a sign nor a signal", clipped(term.name)),
                 nearest_or(word, known, "write one, \"not\" one, or several with \" or \" between them"));
      }
      out.push_back(std::move(term));
    }
    return out;
  }

  /// Gives every signal of the row its thresholds, and checks its completeness. \param facts available without its conditions
  void complete(const SpecNode& node, const std::string& path, Row& row, const Given& given,
                std::set<std::string, std::less<>> facts = {}) {
    const auto fault = [&](std::string_view key, std::string message, std::string remedy) {
      faults_.add(issue_at(node.mark, fmt::format("{}.{}", path, key), std::move(message), std::move(remedy)));
    };
    if (row.when.empty() && facts.empty()) fault("when", "is missing", "write a sign, a signal, or `words:`");
    std::vector<Threshold> asked;
    for (const Condition& one : row.when)
      for (const Term& term : one) {
        if (term.signal != nullptr) asked.insert(asked.end(), term.signal->thresholds.begin(), term.signal->thresholds.end());
        if (!term.negated && term.signal != nullptr) facts.insert(term.signal->facts.begin(), term.signal->facts.end());
        if (!term.negated && term.signal == nullptr) facts.insert({"line", term.name});
      }
    Numbers own;
    if (given.at != nullptr) read_numbers(*given.at, given.at_path, asked, own);
    for (Condition& one : row.when)
      for (Term& term : one) {
        if (term.signal == nullptr) continue;
        const Numbers& shared = rules_.numbers[term.name];
        for (const Threshold& t : term.signal->thresholds) {
          if (own.has(t.name))
            term.numbers.set(t.name, own.list(t.name));
          else if (shared.has(t.name))
            term.numbers.set(t.name, shared.list(t.name));
          else if (t.use != Threshold::Use::optional)
            fault("at", fmt::format("{} has no \"{}\"", term.name, t.name),
                  fmt::format("write `at: {{{}: ...}}` here, or below `signals:`", t.name));
        }
      }
    if (!row.cause && !facts.contains("cause")) fault("cause", "is missing", "write the cause that follows");
    if (!given.weight) fault("weight", "is missing", "write 0 (a guess) to 1 (the log says so itself)");
    if (!given.role) fault("as", "is missing", "write proof, hint or defence");
    if (row.evidence.empty()) fault("evidence", "is missing", "write what was seen, \"{line}\" for the line of a sign");
    if (row.remedy.empty()) fault("remedy", "is missing", "write what to do about it");
    for (const auto& [key, text] : {std::pair{"evidence", &row.evidence}, std::pair{"remedy", &row.remedy}})
      for (const std::string& name : placeholders(*text))
        if (!facts.contains(name)) {
          std::string known;
          for (const std::string& one : facts) known += (known.empty() ? "" : ", ") + one;
          fault(key, fmt::format("nothing gives \"{{{}}}\"", clipped(name)),
                known.empty() ? "its conditions give no facts" : "its conditions give " + known);
        }
  }

  static ValueTest value_test(MapReader& in) {
    ValueTest out;
    for (std::string& one : one_or_more(in, "value")) out.any.push_back(uppered(std::move(one)));
    out.starts = uppered(in.text("starts"));
    out.not_starts = uppered(in.text("not_starts"));
    out.holds = uppered(in.text("holds"));
    if (const auto max = in.quantity("most", QuantityKind::number)) out.max = max->number;
    return out;
  }

  void read_settings(const SpecNode& node, RuleFile& file) {
    MapReader in(node, "settings", faults_);
    Row shared;
    shared.evidence = in.text("evidence", true);
    shared.remedy = in.text("remedy", true);
    const SpecNode* rows = in.take("variables", true);
    if (rows != nullptr && rows->kind != SpecNode::Kind::list)
      in.fault(*rows, "variables", "is not a list", "write `- {variable: ..., what: ...}` below it");
    for (std::size_t i = 0; rows != nullptr && i < rows->items.size(); ++i) {
      const std::string path = fmt::format("settings.variables[{}]", i);
      MapReader row(rows->items[i], path, faults_);
      SettingRow one{row.text("variable", true), row.text("what", true), value_test(row), shared};
      Given given;
      read_row(row, path, one.row, given);
      row.finish();
      complete(rows->items[i], path, one.row, given, {"line", "what", "variable", "value"});
      one.row.id = fmt::format("{}.{}", one.variable, one.row.cause ? name(*one.row.cause) : "any");
      file.settings.push_back(std::move(one));
    }
    in.finish();
  }

  SpecStore store_;
  Faults faults_;
  std::vector<SpecNode> trees_;
  std::map<std::string, const Signal*, std::less<>> signals_;
  Rules rules_;
};

}  // namespace

const Rules& load_rules() {
  return read_once([](const std::filesystem::path&) { return RuleReader{}.read(); });
}

}  // namespace fabricost::observe::diagnosis
