// Errors of input files say where, what and what to write instead, all of a file's at once.
#include <fabricost/specs/load.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>

int main() {
  const auto file = std::filesystem::temp_directory_path() / "fabricost-bad-spec.yaml";
  std::ofstream(file) << "extends: dgx-h100\n"
                         "name: my-box\n"
                         "tiers:\n"
                         "  - name: nvlink\n"
                         "    bandwidth: 900 GB/s\n"
                         "  - name: nic\n"
                         "    lnk: infiniband-ndr\n";
  int status = 1;
  try {
    static_cast<void>(fabricost::load_system(file.string()));
  } catch (const fabricost::SpecError& error) {
    std::printf("%s\n", error.what());
    status = error.issues().size() == 2 ? 0 : 1;
  }
  std::filesystem::remove(file);
  return status;
}
