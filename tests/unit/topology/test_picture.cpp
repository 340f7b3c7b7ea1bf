// show --svg: well-formed, nothing outside, no words over words, every tier and its rate there.
#include "unit/topology/topologies.hpp"

#include <fabricost/pictures/picture.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>
#include <pugixml.hpp>

using namespace fabricost::core;
using namespace fabricost::core::units;

namespace {

struct Box {
  double left, top, right, bottom;
  std::string text;
};

/// The boxes of words, by a font of 0.6 em a character: wider than the fonts the file names.
std::vector<Box> words_of(const pugi::xml_node& svg) {
  std::vector<Box> out;
  for (const pugi::xml_node& text : svg.children("text")) {
    const std::string content = text.child_value();
    const double size = text.attribute("font-size").as_double(), width = picture_text_width(content, size);
    const std::string anchor = text.attribute("text-anchor").value();
    const double x = text.attribute("x").as_double() - (anchor == "middle" ? width / 2 : anchor == "end" ? width : 0);
    const double y = text.attribute("y").as_double();
    out.push_back({x, y - 0.8 * size, x + width, y + 0.25 * size, content});
  }
  return out;
}

void check_picture(const std::string& svg_text, const std::string& what) {
  INFO(what);
  pugi::xml_document document;
  REQUIRE(document.load_buffer(svg_text.data(), svg_text.size(), pugi::parse_full));
  const pugi::xml_node svg = document.child("svg");
  REQUIRE(svg);
  const double width = svg.attribute("width").as_double(), height = svg.attribute("height").as_double();
  CHECK(std::string{svg.attribute("viewBox").value()} == fmt::format("0 0 {} {}", width, height));
  const std::vector<Box> words = words_of(svg);
  std::string faults;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Box& a = words[i];
    if (a.left < 0 || a.right > width || a.top < 0 || a.bottom > height) faults += a.text + " leaves the page\n";
    for (std::size_t j = i + 1; j < words.size(); ++j) {
      const Box& b = words[j];
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) faults += a.text + " over " + b.text + "\n";
    }
  }
  for (const pugi::xml_node& rect : svg.children("rect")) {
    const double right = rect.attribute("x").as_double() + rect.attribute("width").as_double();
    const double bottom = rect.attribute("y").as_double() + rect.attribute("height").as_double();
    if (rect.attribute("x").as_double() < 0 || right > width || bottom > height) faults += "a box leaves the page\n";
  }
  for (const pugi::xml_node& line : svg.children("line"))
    for (const char* y : {"y1", "y2"})
      if (line.attribute(y).as_double() > height || line.attribute(y).as_double() < 0) faults += "a line leaves the page\n";
  CHECK(faults.empty());
  if (!faults.empty()) UNSCOPED_INFO(faults);
}

}  // namespace

TEST_CASE("the picture of every machine is well formed and its words do not overlap", "[picture]") {
  for (const SystemName& one : system_names()) {
    const System system = load_system(one.name);
    const std::string drawn = picture(system);
    check_picture(drawn, one.name);
    for (const Tier& tier : system.tiers) CHECK(drawn.find(std::string{tier.name.view()}) != std::string::npos);
  }
}

TEST_CASE("a prediction colours the tiers by their terms", "[picture]") {
  const System system = load_system("superpod-h100");
  const Operation op{.collective = Collective::all_reduce, .bytes = MiB(256), .nodes = 4};
  const Prediction p = predict(system, op);
  const std::string drawn = picture(system, &p, "all_reduce of 256 MiB");
  check_picture(drawn, "with loads");
  double nic = 0;
  for (const Term& term : p.terms)
    if (term.tier == "nic") nic += term.time / p.time();
  CHECK(drawn.find(fmt::format("{:.0f} % of the time", 100 * nic)) != std::string::npos);
  CHECK(drawn.find("share of the predicted time") != std::string::npos);
  CHECK(picture(system).find("of the time") == std::string::npos);
}

TEST_CASE("names with markup and beyond ASCII stay text", "[picture]") {
  System system = load_system("dgx-h100");
  system.title = "<script>&\"'\x01 Größe " + std::string(300, 'm');
  system.gpu.name = "]]><b>";
  check_picture(picture(system), "markup");
}

TEST_CASE("mesh pictures have an arc for each pair", "[picture]") {
  const System system = load_system("dgx-1-v100");
  const std::string drawn = picture(system);
  std::size_t arcs = 0;
  for (std::size_t at = drawn.find("<path"); at != std::string::npos; at = drawn.find("<path", at + 1)) ++arcs;
  CHECK(arcs == system.tier(TierRole::scale_up)->edges.size());
}
