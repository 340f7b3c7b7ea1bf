/// The plugin that the command loads for `measure --mpi`.

#include "measure/mpi/host.hpp"
#include "measure/mpi/mpi_device.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>

namespace {

using namespace fabricost::probes::measure;

/// Reads the limit of waiting, in seconds, from $FABRICOST_MPI_TIMEOUT. False for an invalid number, with the
/// reason in `why`.
bool read_limit(double& limit, std::string& why) {
  const auto text = mpi::environment_variable("FABRICOST_MPI_TIMEOUT");
  if (!text) return true;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (fault == std::errc{} && end == text->data() + text->size() && limit >= 1 && limit <= 1e6) return true;
  why = fmt::format("FABRICOST_MPI_TIMEOUT={}: write the seconds after which a process is taken for gone, 1 to 1000000", *text);
  return false;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) Device* fabricost_device(int interface, std::string& why) {
  if (interface != device_interface) {
    why = fmt::format("the MPI probe was built for another fabricost (interface {}, asked for {}): build both from one source",
                      device_interface, interface);
    return nullptr;
  }
  mpi::MpiOptions options;
  if (!read_limit(options.limit, why)) return nullptr;
  try {
    auto device = std::make_unique<mpi::MpiDevice>(options);
    if (device->processes() > 1) return device.release();
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const mpi::LibraryName library = mpi::library_named(text.data());
    why = fmt::format(
        "there is one MPI process, which has nobody to send to: start `mpirun -n 4 fabricost measure --mpi`, with the mpirun "
        "(or srun --mpi) of {} {}, which this probe was built with",
        library.name, library.version);
  } catch (const std::exception& fault) {
    why = fault.what();
  }
  return nullptr;
}
