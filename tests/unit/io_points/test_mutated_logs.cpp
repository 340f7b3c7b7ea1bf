// Logs cut anywhere and with characters changed: read or refused with a place, never anything else, and never a point without sense.
#include "files.hpp"
#include "support/measurements.hpp"

#include <catch.hpp>

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

using namespace fabricost::observe;
using namespace fabricost::test;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// True when the text is read to sound points or refused with a message.
bool sound(const Folder& folder, const std::string& text) {
  const auto file = folder.write("all_reduce_mutated.txt", text);
  try {
    for (const Point& p : read_points(file, {.system = "dgx-h100"}).points)
      if (!(p.bytes > 0) || !(p.seconds > 0) || !std::isfinite(p.seconds) || p.nodes < 1 || p.gpus_per_node < 1) return false;
    return true;
  } catch (const Error& error) {
    return std::string(error.what()).size() > 10;
  }
}

}  // namespace

TEST_CASE("a log cut or scrambled anywhere is read or refused", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const Folder scratch;
  std::mt19937 random(20260704);
  int tried = 0;
  const auto mutate = [&](const std::filesystem::path& path, int times) {
    const std::string whole = text_of(path);
    static constexpr std::string_view put = "0123456789.-+eE#[]{}\",:\\ \t\n\x1BNP";
    for (int i = 0; i < times; ++i) {
      std::string text = i % 2 == 0 ? whole.substr(0, random() % whole.size()) : whole;
      for (int flips = i % 2 == 0 ? 0 : 1 + i % 7; flips > 0; --flips) text[random() % text.size()] = put[random() % put.size()];
      INFO(path.filename().string() << ", mutation " << i);
      CHECK(sound(scratch, text));
      ++tried;
    }
  };
  for (const auto& entry : std::filesystem::directory_iterator(folder / "multinode" / "p2p"))
    if (entry.path().extension() != ".csv") mutate(entry.path(), 24);
  int logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "multinode" / "logs"))
    if (++logs % 16 == 0) mutate(entry.path(), 10);
  CHECK(tried > 700);
}
