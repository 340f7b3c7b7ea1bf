#pragma once
/// Spec files written for one test, and the result of loading them.

#include "support/folder.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace specs {

namespace fs = std::filesystem;

using support::Folder;

enum class Document { gpu, link, switches, system };

inline void load(Document kind, const std::string& name, const std::vector<std::string>& overrides = {}) {
  if (kind == Document::gpu) (void)fabricost::core::load_gpu(name);
  if (kind == Document::link) (void)fabricost::core::load_link(name);
  if (kind == Document::switches) (void)fabricost::core::load_switch(name);
  if (kind == Document::system) (void)fabricost::core::load_system(name, overrides);
}

struct Outcome {
  enum class Kind { loaded, spec_error, request_error, something_else } kind = Kind::loaded;
  std::string text;
  std::vector<fabricost::core::Issue> issues;
  double seconds = 0;

  [[nodiscard]] bool refused() const { return kind == Kind::spec_error || kind == Kind::request_error; }
  [[nodiscard]] bool says(std::string_view words) const { return text.find(words) != std::string::npos; }
};

/// The exception of a call, and its computing time.
template <class Call>
Outcome outcome_of(Call&& call) {
  Outcome out;
  const std::clock_t start = std::clock();  // processor time: other programs do not count
  try {
    call();
  } catch (const fabricost::core::SpecError& error) {
    out = {Outcome::Kind::spec_error, error.what(), error.issues(), 0};
  } catch (const fabricost::core::RequestError& error) {
    out = {Outcome::Kind::request_error, error.what(), {}, 0};
  } catch (const std::exception& error) {
    out = {Outcome::Kind::something_else, error.what(), {}, 0};
  }
  out.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return out;
}

/// `text` with one occurrence of `find` replaced, which must exist.
inline std::string replaced(std::string text, std::string_view find, std::string_view by) {
  const auto at = text.find(find);
  if (at == std::string::npos) throw std::logic_error("the test looks for what is not there: " + std::string{find});
  return text.replace(at, find.size(), by);
}

/// Small documents without a fault, for breaking one value at a time.
inline const std::string good_gpu =
    "name: card\ntitle: A card\nvendor: nvidia\ngeneration: hopper\nsource: a test\nconfidence: assumed\nmemory: 80 GB\n"
    "hbm: {bandwidth: 3350 GB/s, latency: 560 ns}\nl2: {size: 50 MB, bandwidth: 5500 GB/s, latency: 150 ns}\n"
    "compute: {fp16: 989 TFLOP/s}\nunits: 132\nclock: 1830 MHz\npower: 700 W\nprice: 2.95 USD/h\n"
    "scale_up: {link: nvlink-4, links: 18}\nhost: {link: pcie-5, lanes: 16}\n";
inline const std::string good_link =
    "name: wire\ntitle: A wire\nfamily: nvlink\nsource: a test\nconfidence: assumed\nlanes: 2\nlane_rate: 100 Gbit/s per direction\n"
    "encoding: 1\nbandwidth: 25 GB/s per direction\nusable: 20 GB/s per direction\npacket: {payload: 256 B, header: 24 B}\nlatency: 150 "
    "ns\n";
inline const std::string good_switch =
    "name: box\ntitle: A box\nsource: a test\nconfidence: assumed\nlink: nvlink-4\nports: 64\nlatency: 150 ns\nin_network: [reduction, "
    "multicast]\n";
inline const std::string good_system =
    "name: box\n"                  // 1
    "title: A box\n"               // 2
    "source: a test\n"             // 3
    "confidence: assumed\n"        // 4
    "gpu: h100-sxm\n"              // 5
    "gpus: 8\n"                    // 6
    "tiers:\n"                     // 7
    "  - name: nvlink\n"           // 8
    "    role: scale_up\n"         // 9
    "    kind: switch\n"           // 10
    "    endpoints: 8\n"           // 11
    "    link: nvlink-4\n"         // 12
    "    links: 18\n"              // 13
    "    switch: nvswitch-3\n"     // 14
    "    switches: 4\n"            // 15
    "  - name: nic\n"              // 16
    "    role: nic\n"              // 17
    "    kind: rails\n"            // 18
    "    endpoints: 8\n"           // 19
    "    link: infiniband-ndr\n"   // 20
    "    transport: infiniband\n"  // 21
    "    path: pxb\n"              // 22
    "    gdr: true\n";             // 23
/// The same with `keys` instead of the scale-up tier's shape; they start in line 10.
inline std::string shaped(std::string_view keys) {
  return replaced(good_system,
                  "    kind: switch\n    endpoints: 8\n    link: nvlink-4\n    links: 18\n    switch: nvswitch-3\n    switches: 4\n", keys);
}

}  // namespace specs
