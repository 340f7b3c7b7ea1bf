// Prices of a machine without any measurement: data/priors, row by row, unless a calibration says otherwise.
#include "files.hpp"

#include "support/skipped.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/hardware/interval_widths.hpp>
#include <fabricost/hardware/parameters.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

#include "specs/store.hpp"

using namespace fabricost::observe;
using namespace specs;

namespace {

constexpr ConstantSet all_sets[] = {ConstantSet::scale_up, ConstantSet::pcie,   ConstantSet::transport,
                                    ConstantSet::compute,  ConstantSet::custom, ConstantSet::moe};

}  // namespace

TEST_CASE("every constant has its row in data/priors; what machines have in common has a source of its own", "[specs]") {
  SpecStore store;
  int rows = 0;
  const auto stands = [&](const SpecNode& table, std::string_view key, bool own_source) {
    const SpecNode* one = table.find(std::string{key});
    INFO(key);
    REQUIRE(one != nullptr);
    CHECK(one->find("value") != nullptr);
    if (own_source) CHECK((one->find("source") != nullptr && one->find("confidence") != nullptr));
    ++rows;
  };
  for (const ConstantSet set : all_sets) {
    std::string file{name(set)};
    std::replace(file.begin(), file.end(), '_', '-');
    const SpecNode tree = store.resolve("priors", file);
    CHECK(tree.find("source")->text == prior_source(set));
    for (const Parameter& p : parameters_of(set)) stands(*tree.find("constants"), p.key, p.fitted == FitTreatment::form);
    CHECK(tree.find("constants")->entries.size() == parameters_of(set).size());
  }
  const SpecNode widths = store.resolve("priors", "intervals");
  for (const NamedWidth& width : general_widths) stands(*widths.find("widths"), width.key, true);
  for (const NamedWidth& width : interval_widths) stands(*widths.find("widths"), width.key, false);
  CHECK(rows > 300);
}

TEST_CASE("a machine that no calibration applies to has the priors", "[specs]") {
  const Constants by_default, loaded = load_system("dgx-h100", {}, "none").constants;
  for (const ConstantSet set : all_sets)
    for (const Parameter& p : parameters_of(set)) {
      INFO(name(set) << " " << p.key);
      CHECK(p.value(by_default) == p.prior);
      CHECK(p.value(loaded) == p.prior);
    }
  CHECK(loaded.source == prior_source(ConstantSet::scale_up));
}

TEST_CASE("a calibration says otherwise of a form, and keeps what it does not name", "[specs]") {
  const Folder folder;
  const std::string mine =
      "name: mine\ntitle: Mine\nsource: a test\nconfidence: measured\nkind: transport\nmeasured: {most_nodes: 4}\n"
      "constants: {tree_step: 4.4 us, form: {ll128_share: 0.5}}\n";
  const System as_shipped = load_system("dgx-a100-hdr"), other = load_system("dgx-a100-hdr", {}, folder.write("mine.yaml", mine));
  CHECK(other.constants.transport.form.ll128_share == 0.5);
  CHECK(other.constants.transport.form.tree_ll128_share == as_shipped.constants.transport.form.tree_ll128_share);
  CHECK(other.constants.transport.tree_step == Approx(4.4e-6));
  Choice tree;
  tree.algorithm = Algorithm::tree;
  tree.protocol = Protocol::ll128;
  const AllReduce large{.bytes = units::GiB(4), .nodes = 2};
  System halved = as_shipped;
  halved.constants.transport.form.tree_ll128_share *= 0.5;
  CHECK(predict(halved, large, tree).seconds > 1.1 * predict(as_shipped, large, tree).seconds);
}

TEST_CASE("a written calibration has a form's constant only where it is the machine's own", "[specs]") {
  CalibratedSet set;
  set.set = ConstantSet::transport;
  set.name = "transport-mine";
  CHECK(calibration_yaml(set, "2026-01-31", "a test").find("form:") == std::string::npos);
  set.constants.transport.form.ll128_share = 0.6;
  const std::string written = calibration_yaml(set, "2026-01-31", "a test");
  CHECK(written.find("  form:\n    ll128_share: 0.6\n") != std::string::npos);
  CHECK(written.find("tree_ll128_share") == std::string::npos);
}

TEST_CASE("every constant has one row, found again where it lives", "[specs]") {
  Constants c;
  for (const ConstantSet set : all_sets)
    for (const Parameter& p : parameters_of(set)) {
      INFO(name(set) << " " << p.key << " " << p.member);
      CHECK(p.set == set);
      const double before = p.value(c);
      CHECK(before >= fabricost::core::bounds_of(p.kind).min);
      CHECK(before <= fabricost::core::bounds_of(p.kind).max);
      CHECK(p.min <= p.max);
      p.of(c) = 7.25;
      CHECK(p.value(c) == 7.25);
      p.of(c) = before;
    }
  c.scale_up.nvls.fill = 7.25;
  c.pcie.simple_share[2] = 7.25;
  c.moe.form.few_sms = 7.25;
  const auto is = [&](ConstantSet set, std::string_view key) {
    for (const Parameter& p : parameters_of(set))
      if (p.key == key) return p.value(c) == 7.25;
    return false;
  };
  CHECK(is(ConstantSet::scale_up, "nvls.fill"));
  CHECK(is(ConstantSet::pcie, "simple_rate.two_sockets"));
  CHECK(is(ConstantSet::moe, "form.few_sms"));
}
