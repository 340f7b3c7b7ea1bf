/// Opens plugins with dlopen, and reports why none is usable.

#include "measure/plugin.hpp"
#include "text/joined.hpp"

#include <fabricost/compiled_part.hpp>
#include <fabricost/error.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace fabricost::probes::measure {

namespace {

struct PluginKind {
  std::string_view word;     ///< in the file name
  std::string_view runtime;  ///< in messages
};
constexpr PluginKind cuda{"cuda", "CUDA"}, hip{"hip", "HIP"};

/// The result of opening one kind of plugin.
struct Opened {
  std::unique_ptr<Device> device{};
  bool found = false;
  std::string why{};  ///< the reason why there is no device
};

Opened open(const PluginKind& kind) {
  Opened out;
  for (const std::filesystem::path& folder : probe_folders()) {
    const std::filesystem::path file = folder / fmt::format("libfabricost_probe_{}.so", kind.word);
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) continue;
    out.found = true;
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      out.why = fmt::format("{} cannot be loaded: {}", file.string(), dlerror());
      return out;
    }
    const auto entry = reinterpret_cast<OpenDevice>(dlsym(library, "fabricost_device"));
    if (entry == nullptr) {
      out.why = fmt::format("{} is no plugin of fabricost: it has no fabricost_device", file.string());
      return out;
    }
    // never closed: the runtimes keep threads and handlers until the process ends
    out.device.reset(entry(device_interface, out.why));
    if (!out.device && out.why.empty()) out.why = fmt::format("{} gives no reason", file.string());
    return out;
  }
  return out;
}

std::string folders_text() {
  std::vector<std::string> out;
  for (const std::filesystem::path& folder : probe_folders()) out.push_back(folder.string());
  return joined(out);
}

/// A folder from the environment.
/// \throws Refusal where what is loaded would depend on the current folder, or where anybody may put a plugin
[[nodiscard]] std::filesystem::path trusted(std::filesystem::path folder) {
  if (!folder.is_absolute())
    throw Refusal(fmt::format("FABRICOST_PROBES: \"{}\" depends on the current folder; write it from the root on", folder.string()));
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(folder, error);
  if (std::filesystem::exists(status) && (status.permissions() & std::filesystem::perms::others_write) != std::filesystem::perms::none)
    throw Refusal(fmt::format("FABRICOST_PROBES: anybody may write to {}, and what is there would run; take another folder, or chmod o-w",
                              folder.string()));
  return folder;
}

}  // namespace

std::vector<std::filesystem::path> probe_folders() {
  std::vector<std::filesystem::path> out;
  if (const char* set = std::getenv("FABRICOST_PROBES"); set != nullptr && *set != '\0') {
    std::string_view rest = set;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) out.push_back(trusted(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&FABRICOST_COMPILED_PART), &library) == 0) library.dli_fname = nullptr;
  std::filesystem::path before;
  for (const char* file : {"/proc/self/exe", library.dli_fname}) {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::canonical(file == nullptr ? "" : file, error);
    if (error || program == before) continue;
    out.push_back(program.parent_path());
    out.push_back((program.parent_path() / "../lib/fabricost/probes").lexically_normal());
    before = program;
  }
  return out;
}

std::unique_ptr<Device> open_device() {
  std::string reasons;
  bool found = false;
  for (const PluginKind& kind : {cuda, hip}) {
    Opened opened = open(kind);
    if (opened.device) return std::move(opened.device);
    found = found || opened.found;
    if (opened.found) reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kind.runtime, opened.why);
  }
  if (!found)
    throw Refusal(
        fmt::format("no GPU can be measured: there is neither libfabricost_probe_cuda.so nor libfabricost_probe_hip.so in {}; build on a "
                    "machine with CUDA's nvcc or ROCm's hipcc (-DFABRICOST_BUILD_PROBES=ON), or set FABRICOST_PROBES to their folder. "
                    "Without a GPU: run the OSU benchmarks; calibrate --from reads what they print",
                    folders_text()));
  throw RequestError(fmt::format(
      "no GPU can be measured: {}. Check that nvidia-smi (or rocm-smi) lists a GPU here, and that CUDA_VISIBLE_DEVICES does not "
      "hide it",
      reasons));
}

}  // namespace fabricost::probes::measure
