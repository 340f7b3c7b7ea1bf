// The model without the compiled part: a machine described in code, and a question.
#include <fabricost/fabricost.hpp>

#include <cstdio>

int main() {
  using namespace fabricost::observe;
  using namespace fabricost::units;
  Tier links;
  links.name = "nvlink";
  links.role = TierRole::scale_up;
  links.kind = TierKind::switched;
  links.endpoints = 8;
  links.links = 18;
  links.bandwidth.value = GB_per_s(450);
  links.link_bandwidth = GB_per_s(25);
  System box;
  box.name = "eight-gpus";
  box.gpus_per_node = box.domain = 8;
  box.tiers.push_back(links);
  const Prediction p = predict(box, AllReduce{.bytes = MiB(256), .ranks = 8}, {.rule = Choice::Rule::fastest});
  std::printf("%s %.1f us\n", p.algorithm.c_str(), in(p.time(), us).value());
  return p.seconds > 0 && p.bus_bandwidth().value() <= 450e9 ? 0 : 1;
}
