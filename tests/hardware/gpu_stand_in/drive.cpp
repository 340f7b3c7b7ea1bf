/// \file drive.cpp
/// Runs the GPU probes on the stand-in.
///
///     stand_in_drive PLUGIN right            every probe at sizes that are no multiple of anything
///     stand_in_drive PLUGIN turned           the same with one byte of a result changed, which must be noticed
///     stand_in_drive PLUGIN failing EACH [WORDS]   EACH calls of every function fail, one at a time and in every way; a line of
///                                            probe | call | failure | outcome each. WORDS: only the probes that begin so
///
/// Exit status 0: as it must be; 1: not; 9: something hung, which is named.

#include "cases.hpp"
#include "stand_in.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace stand_in {
namespace {

using namespace fabricost::probes::measure;

OpenDevice open_device = nullptr;
int faults = 0;

// Ends the program when nothing was finished for a long time.
class Watch {
 public:
  static void now(const std::string& what) {
    const std::lock_guard lock(mutex());
    text() = what;
    ++beats();
  }
  static void begin() {
    const char* const patience = std::getenv("STAND_IN_PATIENCE");
    const auto seconds = std::chrono::seconds(patience != nullptr ? std::atoi(patience) : 30);
    std::thread([seconds] {
      for (long last = -1;;) {
        std::this_thread::sleep_for(seconds);
        const std::lock_guard lock(mutex());
        if (beats() == last) {
          std::printf("HANGS: %s\n", text().c_str());
          std::fflush(stdout);
          _exit(9);
        }
        last = beats();
      }
    }).detach();
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::string& text() {
    static std::string one;
    return one;
  }
  static long& beats() {
    static long one = 0;
    return one;
  }
};

/// The plugin gave a reason and no device.
class NotOpened : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

struct Outcome {
  std::string kind{};  ///< "right", or what was thrown
  std::string said{};
};

template <class Try>
Outcome outcome_of(Try&& attempt) {
  try {
    attempt();
    return {"right", ""};
  } catch (const Unsupported& why) {
    return {"unsupported", why.what()};
  } catch (const OutOfMemory& why) {
    return {"out of memory", why.what()};
  } catch (const WrongResult& why) {
    return {"wrong result", why.what()};
  } catch (const DeviceFault& why) {
    return {"fault", why.what()};
  } catch (const DeviceLost& why) {
    return {"lost", why.what()};
  } catch (const NotOpened& why) {
    return {"not opened", why.what()};
  } catch (const std::exception& why) {
    return {"a strange exception", why.what()};
  }
}

std::unique_ptr<Device> opened() {
  std::string why;
  std::unique_ptr<Device> device(open_device(device_interface, why));
  if (!device) throw NotOpened(why);
  return device;
}

void complain(const std::string& text) {
  std::printf("WRONG: %s\n", text.c_str());
  ++faults;
}

// A graph's node is the difference of two times, which may be none here.
void timed(Job& job, const Case& what, int repetitions) {
  const Timing timing = job.run(repetitions);
  if (what.kind != fabricost::core::ProbeKind::graph_node && !(timing.host > 0 && timing.device >= 0)) throw DeviceFault("no time");
}

bool too_small(const Outcome& outcome) {
  return outcome.kind == "unsupported" && outcome.said.find("at least one float") != std::string::npos;
}

// Sizes that are no multiple of 16-byte vectors, of words, of blocks of 512 threads, of devices.
constexpr std::uint64_t sizes[] = {1, 3, 4, 15, 17, 71, 4099, 66003}, turned_sizes[] = {1, 7, 33, 4099};

void right() {
  const auto device = opened();
  const int devices = settings().devices;
  int done = 0;
  const auto attempt = [&](const NamedCase& one, std::uint64_t bytes) {
    const std::string name = one.name + " of " + std::to_string(bytes) + " bytes";
    Watch::now(name);
    const Outcome outcome = outcome_of([&] {
      const auto job = device->prepare(one.what);
      for (const int repetitions : {1, 5}) timed(*job, one.what, repetitions);
      if (bytes == 17) timed(*job, one.what, 300);  // more than a graph holds
    });
    ++done;
    if (outcome.kind != "right" && !too_small(outcome)) complain(name + ": " + outcome.kind + ": " + outcome.said);
  };
  for (const std::uint64_t bytes : sizes)
    for (const NamedCase& one : cases_of(devices, bytes)) attempt(one, bytes);
  if (devices > 1)
    for (const NamedCase& one : collectives_of(devices, 4099)) attempt(one, 4099);
  std::printf("%d cases on %d devices, %d wrong\n", done, devices, faults);
}

void with_dial() {
  const auto device = opened();
  long all = 0;
  std::set<std::string> noticed;
  for (const std::uint64_t bytes : turned_sizes) {
    for (const NamedCase& one : cases_of(settings().devices, bytes)) {
      const bool of_this_size = one.what.bytes == bytes;
      if (one.results.empty() || (!of_this_size && noticed.count(one.name) > 0)) continue;
      Watch::now(one.name + " of " + std::to_string(bytes) + " bytes");
      plan_nothing();
      // also leaves behind what is computed once, so that the first work of a name is the one checked
      if (const Outcome outcome = outcome_of([&] { static_cast<void>(device->prepare(one.what)); }); outcome.kind != "right") {
        if (!too_small(outcome)) complain(one.name + ": " + outcome.kind + ": " + outcome.said);
        continue;
      }
      for (const Result& result : one.results) {
        const std::uint64_t stride = result.bytes > 100 ? result.bytes / 7 : 1;
        for (std::uint64_t at = 0; at < result.bytes;
             at += at < 4 || at + 4 >= result.bytes ? 1 : std::min(stride, result.bytes - 4 - at)) {
          const std::string name = one.name + " of " + std::to_string(bytes) + " bytes, byte " + std::to_string(at) + " of " + result.work +
                                   " " + std::to_string(result.nth);
          Watch::now(name);
          plan_turned_byte(result.work, result.nth, result.pointer, at);
          const Outcome outcome = outcome_of([&] { static_cast<void>(device->prepare(one.what)); });
          if (!byte_was_turned()) complain(name + " was not turned");
          if (outcome.kind != "wrong result") complain(name + " was not noticed: " + outcome.kind + ": " + outcome.said);
          ++all;
        }
      }
      noticed.insert(one.name);
    }
  }
  plan_nothing();
  std::printf("%ld turned bytes in the results of %zu cases, %d not noticed\n", all, noticed.size(), faults);
}

// ---- failing calls

// Everything a process does with one case, from opening the plugin to the end.
void whole_life(const NamedCase& one) {
  const auto device = opened();
  if (one.name == "describe") {
    static_cast<void>(device->describe());
    return;
  }
  static_cast<void>(device->state(0));
  const auto job = device->prepare(one.what);
  for (const int repetitions : {1, 5}) timed(*job, one.what, repetitions);
  static_cast<void>(device->state(0));
}

std::string text_of(const Resources& r) {
  const std::pair<long, const char*> all[] = {{r.device_buffers, "buffers"},
                                              {r.host_buffers, "host buffers"},
                                              {r.streams, "streams"},
                                              {r.events, "events"},
                                              {r.graphs, "graphs"},
                                              {r.executable_graphs, "executable graphs"},
                                              {r.communicators, "communicators"},
                                              {r.registrations, "registrations"}};
  std::string out;
  for (const auto& [count, name] : all)
    if (count != 0) out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return out;
}

// The nth calls that are tried: the first, the last, and others evenly between.
std::set<long> chosen(long count, long each) {
  std::set<long> out;
  for (long i = 0; i < each; ++i) out.insert(each == 1 ? 1 : 1 + i * (count - 1) / (each - 1));
  return out;
}

void failing(long each, const std::string& words) {
  std::vector<NamedCase> all{{"describe", {}, {}}};
  for (const NamedCase& one : cases_of(settings().devices, 4099)) all.push_back(one);
  long done = 0, missed = 0;
  for (const NamedCase& one : all) {
    if (one.name.rfind(words, 0) != 0) continue;
    Watch::now(one.name);
    plan_nothing();
    if (const Outcome outcome = outcome_of([&] { whole_life(one); }); outcome.kind != "right")
      complain(one.name + ": " + outcome.kind + ": " + outcome.said);
    for (const auto& [call, count] : calls())
      for (const long nth : chosen(count, each))
        for (const auto& [failure, word] : failure_words) {
          if (call.rfind("running_", 0) == 0 && failure != Failure::lost) continue;  // work can only fail with its device
          const std::string name = one.name + " | " + call + " | " + word;
          Watch::now(name + ", call " + std::to_string(nth));
          plan_failure(call, nth, failure);
          const Outcome outcome = outcome_of([&] { whole_life(one); });
          const bool happened = failure_happened();
          plan_nothing();
          revive();
          if (!happened) {  // a call that is repeated until something is done: there were fewer this time
            ++missed;
            continue;
          }
          ++done;
          std::printf("%s | %s | %s\n", name.c_str(), outcome.kind.c_str(), outcome.said.c_str());
          if (const std::string left = text_of(resources()); !left.empty())
            complain(name + ", call " + std::to_string(nth) + " leaks " + left);
          if (abandoned_captures() > 0) complain(name + ", call " + std::to_string(nth) + " leaves a capture open");
        }
    if (const Outcome outcome = outcome_of([&] { whole_life(one); }); outcome.kind != "right")
      complain(one.name + " after the failures: " + outcome.kind + ": " + outcome.said);
  }
  std::printf("%ld failures, %ld calls that came less often this time, %d faults\n", done, missed, faults);
}

}  // namespace
}  // namespace stand_in

int main(int argc, char** argv) {
  const std::string task = argc > 2 ? argv[2] : "";
  if (task != "right" && task != "turned" && (task != "failing" || argc < 4)) {
    std::fprintf(stderr, "usage: stand_in_drive PLUGIN right|turned|failing EACH [WORDS]\n");
    return 2;
  }
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  stand_in::open_device = reinterpret_cast<fabricost::probes::measure::OpenDevice>(dlsym(plugin, "fabricost_device"));
  if (stand_in::open_device == nullptr) return 2;
  stand_in::Watch::begin();
  if (task == "right") stand_in::right();
  if (task == "turned") stand_in::with_dial();
  if (task == "failing") stand_in::failing(std::atol(argv[3]), argc > 4 ? argv[4] : "");
  return stand_in::faults == 0 ? 0 : 1;
}
