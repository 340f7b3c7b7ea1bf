// NICs that a node has lost: NCCL's channels stay bound to devices, so the fullest device left sets the time.
#include <fabricost/answers/predict.hpp>
#include <fabricost/predict/lost_nics.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::core;

namespace {

/// Channels of the fullest device after those of lost ones were dealt to the others in turn, each to the emptiest.
int fullest_after(int devices, int each, int lost) {
  std::vector<int> held(static_cast<std::size_t>(devices - lost), each);
  for (int moved = 0; moved < lost * each; ++moved) ++*std::min_element(held.begin(), held.end());
  return *std::max_element(held.begin(), held.end());
}

double seconds(const std::string& system, Collective op, int nodes, const std::vector<std::string>& overrides, double bytes = 1e9) {
  return predict(load_system(system, overrides), Operation{.collective = op, .bytes = Bytes::from_value(bytes), .nodes = nodes}).seconds;
}

}  // namespace

TEST_CASE("an exchange waits for the device to which most channels of lost ones moved", "[predict][lost]") {
  for (const int devices : {2, 4, 6, 8, 16})
    for (const int each : {1, 2})
      for (int lost = 1; lost < devices; ++lost) {
        CAPTURE(devices, each, lost);
        const NicsLeft left = nics_left(devices, devices - lost, devices, each);  // a device for each GPU
        CHECK(left.carrying == devices - lost);
        CHECK(devices / (left.carrying * left.exchanges) == within(static_cast<double>(fullest_after(devices, each, lost)) / each, 1e-12));
      }
  CHECK(nics_left(8, 8, 8, 2).exchanges == 1);
}

TEST_CASE("NICs of one GPU are a device, and the one with the fewest left holds all to its pace", "[predict][lost]") {
  for (const int each : {2, 4})
    for (int lost = 1; lost < 8 * each; ++lost) {
      std::vector<int> held(8, each);  // each next loss hits the device with the most left
      for (int i = 0; i < lost; ++i) --*std::max_element(held.begin(), held.end());
      const int fewest = *std::min_element(held.begin(), held.end());
      const int pace = fewest > 0 ? 8 * fewest : std::accumulate(held.begin(), held.end(), 0);  // a device without NICs is none
      CHECK(nics_left(8 * each, 8 * each - lost, 8, 2).carrying == pace);
    }
}

TEST_CASE("a node with some NICs lost is as slow as one made with fewer, and one more never costs less than one fewer", "[predict][lost]") {
  for (const char* name : {"superpod-h100", "aws-p4de", "superpod-gb200", "frontier"}) {
    const int nics = load_system(name).tier("nic")->endpoints;
    for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all}) {
      double before = seconds(name, op, 36, {});
      for (int lost = 1; lost < nics; ++lost) {
        CAPTURE(name, lost, fabricost::core::name(op));
        const double now = seconds(name, op, 36, {"tiers.nic.lost=" + std::to_string(lost)});
        const double made = seconds(name, op, 36, {"tiers.nic.endpoints=" + std::to_string(nics - lost)});
        if (nics > 4 && nics <= 8) CHECK(now == within(made, 1e-9));  // a NIC for each GPU
        CHECK(now >= made * (1 - 1e-9));
        CHECK(now >= before * (1 - 1e-9));
        before = now;
      }
    }
  }
}

TEST_CASE("one NIC of eight costs rings an eighth of the rate, exchanges what moves to the fullest", "[predict][lost]") {
  const std::vector<std::string> lost{"tiers.nic.lost=1"};
  const double size = 16e9;
  const auto factor = [&](const char* name, Collective op) { return seconds(name, op, 8, lost, size) / seconds(name, op, 8, {}, size); };
  CHECK(factor("superpod-h100", Collective::all_gather) == within(8.0 / 7, 0.02));
  CHECK(factor("superpod-h100", Collective::all_to_all) == within(3.0 / 2, 0.05));  // 16 channels over 7: one has 3
  CHECK(factor("dgx-a100-hdr", Collective::all_to_all) == within(2, 0.08));         // 8 over 7: one has 2
  CHECK(factor("aws-p5", Collective::all_gather) == within(4.0 / 3, 0.02));         // one of a GPU's four
}

TEST_CASE("the words say what lost NICs cost", "[predict][lost]") {
  ExplainRequest r;
  r.operation = Collective::all_to_all;
  r.system.name = "superpod-h100";
  r.nodes = 4;
  r.bytes = units::GB(1);
  r.lost_rails = 1;
  const auto says = [&](const std::string& words) {  // wherever the lines break
    std::istringstream text(answer(r).text);
    std::string one, all;
    while (text >> one) all += one + " ";
    return all.find(words) != std::string::npos;
  };
  CHECK(says("the fullest of the 7 left carries 1.5 times as much"));
  r.operation = Collective::send_recv;
  r.path = Path::nic;
  CHECK(says("A single message has one of the 7 left to itself."));
  r.operation = Collective::all_gather;
  r.path = {};
  CHECK(says("divides its channels evenly over the 7 left: each carries 1.14 times as much"));
  r.system.name = "aws-p5";
  CHECK(says("the one with the fewest left holds all to its pace, 1.33 times as long"));
}
