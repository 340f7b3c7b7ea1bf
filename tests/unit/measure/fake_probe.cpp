// The made-up machine as a plugin, so that the command's own way (dlopen, output, exit status) is tested. FABRICOST_FAKE says what it is
// like: "gpus=8,lost_after=5"; "absent" is a driver that is not there. "interrupt_after=N" sends the process SIGINT, as Ctrl-C does.
#include "fake_device.hpp"

#include <csignal>
#include <cstdlib>
#include <sstream>

namespace {

using namespace fake;

class Interrupting : public FakeDevice {
 public:
  Interrupting(Traits t, int after) : FakeDevice(t), after_(after) {}
  std::unique_ptr<Job> prepare(const Case& what) override {
    if (prepared == after_) std::raise(SIGINT);
    return FakeDevice::prepare(what);
  }

 private:
  int after_;
};

}  // namespace

extern "C" fabricost::probes::measure::Device* fabricost_device(int interface, std::string& why) {
  if (interface != fabricost::probes::measure::device_interface) {
    why = "built for another interface";
    return nullptr;
  }
  Traits t;
  t.noise = 0.001;
  int interrupt_after = -1;
  const char* given = std::getenv("FABRICOST_FAKE");
  std::stringstream words{given == nullptr ? "" : given};
  for (std::string word; std::getline(words, word, ',');) {
    const std::string key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
    if (key == "absent") {
      why = "no driver: libcuda.so.1 is not there";
      return nullptr;
    }
    if (key == "gpus") t.gpus = std::stoi(value);
    if (key == "name") t.name = value;
    if (key == "lost_after") t.lost_after = std::stoi(value);
    if (key == "interrupt_after") interrupt_after = std::stoi(value);
    if (key == "peers") t.peers = value == "1";
    if (key == "mig") t.mig = value == "1";
    if (key == "allocatable") t.allocatable = std::stoull(value);
    if (key == "library") t.library = value;
    if (key == "wrong" && value == "memory_copy") t.wrong = fabricost::core::ProbeKind::memory_copy;
    if (key == "unsupported_all") t.wrong_after = 0;
  }
  return new Interrupting(t, interrupt_after);
}
