/// Opens the plugin of the GPU probes, prepares every kind of case (each checks its own result bit by bit) and times each shortly.
///
///     gpu_probes_check PLUGIN [--interface N]
///
/// Exit status 0: all right or with a reason not supported; 1: a fault; 3: the plugin cannot serve here, the reason is on stdout.

#include "measure/device.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace fabricost::probes;
using namespace fabricost::probes::measure;

namespace {

struct Tally {
  int right = 0, unsupported = 0, wrong = 0;
};

// Two runs of different length, so that graphs of several sizes and the gate are gone through.
void attempt(Device& device, const Case& what, const std::string& name, Tally& tally) {
  try {
    const auto job = device.prepare(what);
    static_cast<void>(job->run(1));
    const Timing timing = job->run(300);
    // a timer tick and the release of the gate apart, the device cannot be busy for longer than the host waits
    const bool plausible = timing.device > 0 && timing.host > 0 && timing.device * 300 < timing.host * 300 * 1.05 + 50e-6;
    std::printf("%-7s %-52s device %11.3f us  host %11.3f us\n", plausible ? "right" : "WRONG", name.c_str(), 1e6 * timing.device,
                1e6 * timing.host);
    ++(plausible ? tally.right : tally.wrong);
  } catch (const Unsupported& why) {
    std::printf("skipped %-52s %s\n", name.c_str(), why.what());
    ++tally.unsupported;
  } catch (const std::exception& fault) {
    std::printf("WRONG   %-52s %s\n", name.c_str(), fault.what());
    ++tally.wrong;
  }
}

// Sizes that are no multiples of 16, of 4, of anything; one below a vector; one beyond every L2.
constexpr std::array<std::uint64_t, 7> sizes{1, 15, 17, 4099, (1 << 20) + 3, (1 << 26) + 7, (1 << 28) + 13};

template <class Try>
void each_of(ProbeGroup group, Try&& attempt_all) {
  for (const ProbeType& probe : probe_table)
    if (probe.group == group) attempt_all(probe);
}

void one_gpu(Device& device, int gpu, Tally& tally) {
  const std::string on = "GPU " + std::to_string(gpu) + " ";
  each_of(ProbeGroup::memory, [&](const ProbeType& probe) {
    Case what{.kind = probe.kind, .gpu = gpu};
    const std::string name = on + std::string{probe.word} + " ";
    if (probe.sizes == ProbeSizes::caches) {
      for (const std::uint64_t bytes : {std::uint64_t{256}, std::uint64_t{16} << 10, std::uint64_t{4} << 20, std::uint64_t{512} << 20}) {
        what.bytes = bytes;
        attempt(device, what, name + std::to_string(bytes), tally);
      }
      return;
    }
    for (const std::uint64_t bytes : sizes)
      for (const bool cold : {false, true})
        for (const bool graph : {true, false}) {
          what.bytes = bytes;
          what.cold = cold;
          what.graph = graph;
          attempt(device, what, name + std::to_string(bytes) + (cold ? " cold" : "") + (graph ? " graph" : ""), tally);
        }
  });
  each_of(ProbeGroup::launch,
          [&](const ProbeType& probe) { attempt(device, {.kind = probe.kind, .gpu = gpu}, on + std::string{probe.word}, tally); });
  each_of(ProbeGroup::host, [&](const ProbeType& probe) {
    if (probe.sizes == ProbeSizes::none) return attempt(device, {.kind = probe.kind, .gpu = gpu}, on + std::string{probe.word}, tally);
    for (const bool pinned : {true, false})
      for (const std::uint64_t bytes : {sizes[0], sizes[3], sizes[4]})
        attempt(device, {.kind = probe.kind, .bytes = bytes, .gpu = gpu, .pinned = pinned},
                on + std::string{probe.word} + (pinned ? " pinned " : " pageable ") + std::to_string(bytes), tally);
  });
}

void host_of_all(Device& device, int count, Tally& tally) {
  for (const ProbeKind kind : {ProbeKind::host_to_device, ProbeKind::device_to_host, ProbeKind::host_both_ways, ProbeKind::host_read})
    for (const bool both : {false, true}) {
      if (both && kind != ProbeKind::host_read) continue;
      Case what{.kind = kind, .bytes = sizes[4], .both_ways = both};
      for (int gpu = 0; gpu < count; ++gpu) what.gpus.push_back(gpu);
      attempt(device, what, std::string{word(kind)} + " all GPUs at once" + (both ? " both ways" : ""), tally);
    }
}

void peers(Device& device, int count, Tally& tally) {
  Case one, all;
  one.pairs = {{0, 1}};
  for (int from = 0; from < count; ++from)
    for (int to = from + 1; to < count; ++to) all.pairs.emplace_back(from, to);
  each_of(ProbeGroup::peer, [&](const ProbeType& probe) {
    for (Case what : {one, all})
      for (const bool both : {false, true})
        for (const std::uint64_t bytes : {sizes[2], sizes[4]}) {
          if (probe.kind == ProbeKind::peer_load && bytes < 256) continue;
          what.kind = probe.kind;
          what.both_ways = both;
          what.bytes = bytes;
          attempt(
              device, what,
              std::string{probe.word} + (what.pairs.size() > 1 ? " all pairs" : "") + (both ? " both ways " : " ") + std::to_string(bytes),
              tally);
        }
  });
}

void collectives(Device& device, int count, Tally& tally) {
  Case what;
  what.kind = ProbeKind::collective;
  for (int gpu = 0; gpu < count; ++gpu) what.gpus.push_back(gpu);
  const auto attempt_named = [&](const std::string& more) {
    attempt(device, what, std::string(name(what.operation)) + " " + std::string(name(what.dtype)) + " " + std::to_string(what.bytes) + more,
            tally);
  };
  for (int operation = 0; operation < 7; ++operation) {
    what.operation = static_cast<Collective>(operation);
    for (int type = 0; type < 6; ++type)
      for (const bool in_place : {false, true}) {
        what.dtype = static_cast<DataType>(type);
        what.in_place = in_place;
        what.bytes = (1 << 20) + 24;
        attempt_named(in_place ? " in place" : "");
      }
    what.dtype = DataType::half;
    what.in_place = false;
    for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{4096}, std::uint64_t{64} << 20}) {
      what.bytes = bytes;
      attempt_named("");
    }
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvls, Algorithm::pat})
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
        what.algorithm = algorithm;
        what.protocol = protocol;
        what.bytes = 1 << 20;
        attempt_named(std::string{" "}.append(name(algorithm)).append(" ").append(name(protocol)));
      }
    what.algorithm.reset();
    what.protocol.reset();
    for (const bool nvls : {true, false}) {
      what.nvls = nvls;
      attempt_named(nvls ? " with NVLS" : " without NVLS");
    }
    what.nvls.reset();
  }
  what.bytes = 16 << 20;
  for (const Collective operation : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
    for (const Registration how : {Registration::own, Registration::symmetric}) {
      what.operation = operation;
      what.registered = how;
      attempt_named(how == Registration::own ? " registered" : " registered symmetric");
    }
  what.registered = Registration::none;
  each_of(ProbeGroup::overlap, [&](const ProbeType& probe) {
    what.kind = probe.kind;
    std::string named{" "};  // g++ 12 warns of " " + a string
    attempt_named(named += probe.word);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: gpu_probes_check PLUGIN [--interface N]\n");
    return 1;
  }
  const int interface = argc == 4 && std::strcmp(argv[2], "--interface") == 0 ? std::atoi(argv[3]) : device_interface;
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto open = reinterpret_cast<OpenDevice>(dlsym(plugin, "fabricost_device"));
  if (open == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  std::string why;
  const std::unique_ptr<Device> device(open(interface, why));
  if (!device) {
    std::printf("%s\n", why.c_str());
    return why.empty() ? 1 : 3;
  }
  const Machine machine = device->describe();
  const int count = static_cast<int>(machine.units.size());
  std::printf("%s %s, driver %s, %d x %s, %s %s\n", machine.runtime.c_str(), machine.runtime_version.c_str(), machine.driver.c_str(), count,
              machine.units.front().name.c_str(), machine.library.c_str(), machine.library_version.c_str());
  for (const std::string& remark : machine.remarks) std::printf("remark: %s\n", remark.c_str());
  Tally tally;
  one_gpu(*device, 0, tally);
  host_of_all(*device, count, tally);
  if (count > 1) {
    peers(*device, count, tally);
  } else {
    std::printf("skipped probes between GPUs: there is one GPU\n");
  }
  if (count * device->processes() > 1) {
    collectives(*device, count, tally);
  } else {
    std::printf("skipped collectives: they need two ranks\n");
  }
  std::printf("%d right, %d not supported here, %d wrong\n", tally.right, tally.unsupported, tally.wrong);
  return tally.wrong == 0 && tally.right > 0 ? 0 : 1;
}
