// The simulator itself, against rates and times worked out by hand.
#include "partners.hpp"

#include "catch.hpp"

using namespace flow;

namespace {
Flow flow_over(double bytes, std::vector<int> links, double latency = 0, std::vector<int> after = {}) {
  Flow f{.bytes = bytes, .latency = latency, .uses = {}, .after_delivered = std::move(after), .after_sent = {}};
  for (const int l : links) f.uses.push_back({l, 1});
  return f;
}
double seconds(const std::vector<Flow>& flows, const std::vector<double>& capacity) {
  return run(
      flows, capacity, [](int) {}, [](int) {});
}
}  // namespace

TEST_CASE("a flow takes its bytes over its narrowest link and its latency", "[flow]") {
  CHECK(seconds({flow_over(12, {0, 1}, 0.5)}, {4, 3}) == Approx(4.5));
}
TEST_CASE("flows share a link evenly and what a narrow one leaves goes to the others", "[flow]") {
  // 0 uses both links; 1 the first; 2 and 3 the second: the second gives 1 each, the first leaves 9 to flow 1
  Sharing share({10, 3});
  const std::vector<Flow> flows{flow_over(1, {0, 1}), flow_over(1, {0}), flow_over(1, {1}), flow_over(1, {1})};
  std::vector<double> rate(4);
  share(flows, {0, 1, 2, 3}, rate);
  CHECK(rate == std::vector<double>{1, 9, 1, 1});
}
TEST_CASE("a flow that uses a link twice counts twice", "[flow]") {
  Flow twice = flow_over(1, {});
  twice.uses.push_back({0, 2});
  Sharing share({9});
  std::vector<double> rate(2);
  share({twice, flow_over(1, {0})}, {0, 1}, rate);
  CHECK(rate == std::vector<double>{3, 3});
}
TEST_CASE("who stays behind takes what is left when others are done", "[flow]") {
  // 1 and 3 bytes over a link of 2: both at 1 until 1 s, then 2 bytes at 2
  CHECK(seconds({flow_over(1, {0}), flow_over(3, {0})}, {2}) == Approx(2));
}
TEST_CASE("data waits for delivery, a queue only for the send before", "[flow]") {
  CHECK(seconds({flow_over(1, {0}, 5), flow_over(1, {0}, 5, {0})}, {1}) == Approx(12));
  Flow queued = flow_over(1, {0}, 5);
  queued.after_sent = {0};
  CHECK(seconds({flow_over(1, {0}, 5), queued}, {1}) == Approx(7));
}
TEST_CASE("flows that wait for each other are refused", "[flow]") {
  CHECK_THROWS_AS(seconds({flow_over(1, {0}, 0, {1}), flow_over(1, {0}, 0, {0})}, {1}), std::logic_error);
}
TEST_CASE("an algorithm that loses or doubles data is refused", "[flow]") {
  const Network net = flat_switch(3, 1, 0);
  Program unfinished(net, Op::all_gather, one_each(3), 1.0 / 3);
  unfinished.send({{0, 1, {0}, false}, 0, {}, {}});
  CHECK_THROWS_AS(unfinished.seconds(1), std::logic_error);
  Program twice(net, Op::all_reduce, one_each(3), 1.0 / 3);
  twice.send({{0, 1, {0}, true}, 0, {}, {}});
  twice.send({{0, 1, {0}, true}, 0, {}, {}});
  CHECK_THROWS_AS(twice.seconds(1), std::logic_error);
  Program empty(net, Op::all_gather, one_each(3), 1.0 / 3);
  empty.send({{0, 1, {2}, false}, 0, {}, {}});
  CHECK_THROWS_AS(empty.seconds(1), std::logic_error);
}
TEST_CASE("a message around a torus takes the shorter way and splits between two equal ones", "[flow]") {
  const Grid grid{{4, 3}, true};
  const Network net = grid_network(grid, 1, 0.25);
  CHECK(net.ways(0, 1).size() == 1);
  CHECK(net.ways(0, 1)[0].links == std::vector<int>{grid.link(0, 0, 1)});
  CHECK(net.ways(0, 3)[0].links == std::vector<int>{grid.link(0, 0, -1)});
  CHECK(net.ways(0, 2).size() == 2);
  CHECK(net.ways(0, 2)[0].share == 0.5);
  CHECK(net.latency(0, 2 + 4) == Approx(0.75));
  const Network line = grid_network({{4}, false}, 1, 1);
  CHECK(line.ways(0, 3)[0].links.size() == 3);
}
