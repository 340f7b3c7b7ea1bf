/// The machine's settings, planned failures and turned bytes.

#include "stand_in.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>

namespace stand_in {
namespace {

constexpr std::size_t max_devices = 64;

struct Plan {
  std::string name{};
  long nth = 0;
  Failure failure = Failure::none;
  std::uint64_t byte = 0;
  long seen = 0;
  bool happened = false;
};

std::mutex mutex;
Plan failing, turning;
std::map<std::string, long> counted;
std::array<std::atomic<bool>, max_devices> lost_devices{};

Failure failure_named(const std::string& word) {
  for (const auto& [failure, name] : failure_words)
    if (word == name) return failure;
  throw std::invalid_argument("GPU_STAND_IN: no failure is called " + word);
}

// "cudaMalloc@3=lost"
Plan planned_failure(const std::string& text) {
  const auto at = text.find('@'), equals = text.find('=', at);
  if (equals == std::string::npos) throw std::invalid_argument("GPU_STAND_IN: fail=CALL@NTH=HOW, not " + text);
  return {.name = text.substr(0, at), .nth = std::stol(text.substr(at + 1)), .failure = failure_named(text.substr(equals + 1))};
}
// "copy_kernel@2=17": byte 17 of its first pointer
Plan planned_turn(const std::string& text) {
  const auto at = text.find('@'), equals = text.find('=', at);
  if (equals == std::string::npos) throw std::invalid_argument("GPU_STAND_IN: turn=WORK@NTH=BYTE, not " + text);
  return {.name = text.substr(0, at), .nth = std::stol(text.substr(at + 1)), .byte = std::stoul(text.substr(equals + 1))};
}

Settings from_environment() {
  Settings made;
  const char* const words = std::getenv("GPU_STAND_IN");
  std::istringstream in(words != nullptr ? words : "");
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "fail") {
      failing = planned_failure(value);
    } else if (key == "turn") {
      turning = planned_turn(value);
    } else if (key == "folder") {
      made.folder = value;
    } else {
      const int number = std::stoi(value);
      if (key == "devices")
        made.devices = number;
      else if (key == "peers")
        made.peers = number != 0;
      else if (key == "mig")
        made.mig = number != 0;
      else if (key == "permission")
        made.permission = number != 0;
      else if (key == "throttled")
        made.throttled = static_cast<unsigned>(number);
      else if (key == "counted_clock")
        made.counted_clock = number != 0;
      else if (key == "collective_microseconds")
        made.collective_microseconds = number;
      else
        throw std::invalid_argument("GPU_STAND_IN: there is no setting " + key);
    }
  }
  return made;
}

}  // namespace

const Settings& settings() {
  static const Settings all = from_environment();
  return all;
}

Failure failure_of(const char* call, int device) {
  static_cast<void>(settings());  // a failure may be planned there
  if (device >= 0 && is_lost(device)) return Failure::lost;
  const std::lock_guard lock(mutex);
  const long n = ++counted[call];
  if (failing.name != call || failing.nth != n) return Failure::none;
  if (failing.failure == Failure::lost && device >= 0) lose(device);
  return failing.failure;
}

Failure failure_of_work(const char* kind, const char* name, int device) {
  if (const Failure planned = failure_of(kind, device); planned != Failure::none) return planned;
  {
    const std::lock_guard lock(mutex);
    if (failing.name != name) return Failure::none;
  }
  return failure_of(name, device);
}

void lose(int device) { lost_devices.at(static_cast<std::size_t>(device)) = true; }
bool is_lost(int device) { return lost_devices.at(static_cast<std::size_t>(device)); }
void turn_byte_of(const char* work, const std::vector<void*>& pointers) {
  const std::lock_guard lock(mutex);
  if (turning.happened || turning.name != work || ++turning.seen != turning.nth) return;
  turning.happened = true;
  static_cast<unsigned char*>(pointers.at(0))[turning.byte] ^= 1U;
}

}  // namespace stand_in
