// What all machines have in common: data/priors/forms.yaml and the defaults of a System that a program fills in by itself are the same
// numbers, and each constant of a form comes from there unless a calibration says otherwise.
#include "files.hpp"

#include "../support/skipped.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/hardware/interval_widths.hpp>
#include <fabricost/hardware/parameters.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

#include "specs/store.hpp"

using namespace fabricost;
using namespace specs;

namespace {

constexpr ConstantSet all_sets[] = {ConstantSet::scale_up, ConstantSet::pcie,   ConstantSet::transport,
                                    ConstantSet::compute,  ConstantSet::custom, ConstantSet::moe};

/// The value of a dotted key below a node; null where it is not there.
const io::SpecNode* below(const io::SpecNode* node, std::string_view key) {
  while (node != nullptr && !key.empty()) {
    const auto point = key.find('.');
    node = node->find(key.substr(0, point));
    key = point == std::string_view::npos ? std::string_view{} : key.substr(point + 1);
  }
  return node;
}

}  // namespace

TEST_CASE("every constant that machines have in common stands in the priors, with a source", "[specs]") {
  io::SpecStore store;
  const io::SpecNode tree = store.resolve("priors", "forms");
  int rows = 0;
  const auto stands = [&](std::string_view set, std::string_view key) {
    const io::SpecNode* one = below(below(&tree, set), key);
    INFO(set << " " << key);
    REQUIRE(one != nullptr);
    REQUIRE(one->kind == io::SpecNode::Kind::map);
    CHECK(one->find("source") != nullptr);
    CHECK(one->find("confidence") != nullptr);
    ++rows;
  };
  for (const ConstantSet set : all_sets)
    for (const Parameter& p : parameters_of(set))
      if (p.fitted == Fitted::form) stands(name(set), p.key);
  for (const NamedWidth& width : general_widths) stands("intervals", width.key);
  CHECK(rows > 60);
}

TEST_CASE("a System that nobody loaded has the priors by default", "[specs]") {
  const Constants by_default, loaded = load_system("dgx-h100", {}, "none").constants;
  for (const ConstantSet set : all_sets)
    for (const Parameter& p : parameters_of(set)) {
      INFO(name(set) << " " << p.key);
      if (p.fitted == Fitted::form) CHECK(p.value(loaded) == Approx(p.value(by_default)).epsilon(1e-15));
    }
  for (const NamedWidth& width : general_widths) {
    INFO(width.key);
    CHECK(loaded.interval.*width.of == Approx(by_default.interval.*width.of).epsilon(1e-15));
  }
}

TEST_CASE("a calibration says otherwise of a form, and keeps what it does not name", "[specs]") {
  const Folder folder;
  const std::string mine =
      "name: mine\ntitle: Mine\nsource: a test\nconfidence: measured\nkind: transport\nmeasured: {most_nodes: 4}\n"
      "constants: {tree_step: 4.4 us, form: {tree_efficiency: 0.5}}\n";
  const System as_shipped = load_system("dgx-a100-hdr"), other = load_system("dgx-a100-hdr", {}, folder.write("mine.yaml", mine));
  CHECK(other.constants.transport.form.tree_efficiency == 0.5);
  CHECK(other.constants.transport.form.tree_crowded == as_shipped.constants.transport.form.tree_crowded);
  CHECK(other.constants.transport.tree_step == Approx(4.4e-6));
  Choice tree;
  tree.algorithm = Algorithm::tree;
  tree.protocol = Protocol::simple;
  const AllReduce large{.bytes = units::GiB(4), .nodes = 2};
  System halved = as_shipped;
  halved.constants.transport.form.tree_efficiency = 0.5;
  CHECK(predict(halved, large, tree).seconds > 1.1 * predict(as_shipped, large, tree).seconds);
}

TEST_CASE("a written calibration has a form's constant only where it is the machine's own", "[specs]") {
  CalibratedSet set;
  set.set = ConstantSet::transport;
  set.name = "transport-mine";
  CHECK(calibration_yaml(set, "2026-01-31", "a test").find("form:") == std::string::npos);
  set.constants.transport.form.send_recv_crowded = 0.6;
  const std::string written = calibration_yaml(set, "2026-01-31", "a test");
  CHECK(written.find("  form:\n    send_recv_crowded: 0.6\n") != std::string::npos);
  CHECK(written.find("tree_efficiency") == std::string::npos);
}

TEST_CASE("every constant has one row, found again where it lives", "[specs]") {
  Constants c;
  for (const ConstantSet set : all_sets)
    for (const Parameter& p : parameters_of(set)) {
      INFO(name(set) << " " << p.key << " " << p.member);
      CHECK(p.set == set);
      const double before = p.value(c);
      CHECK(before >= detail::bounds_of(p.kind).least);
      CHECK(before <= detail::bounds_of(p.kind).most);
      CHECK(p.least <= p.most);
      p.of(c) = 7.25;
      CHECK(p.value(c) == 7.25);
      p.of(c) = before;
    }
  c.scale_up.nvls.growth = 7.25;
  c.pcie.simple_share[2] = 7.25;
  c.moe.form.few_sms = 7.25;
  const auto is = [&](ConstantSet set, std::string_view key) {
    for (const Parameter& p : parameters_of(set))
      if (p.key == key) return p.value(c) == 7.25;
    return false;
  };
  CHECK(is(ConstantSet::scale_up, "nvls.growth"));
  CHECK(is(ConstantSet::pcie, "simple_rate.two_sockets"));
  CHECK(is(ConstantSet::moe, "form.few_sms"));
}
