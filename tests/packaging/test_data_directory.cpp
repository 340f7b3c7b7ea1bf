#include "catch.hpp"
#include "specs/data_directory.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/version.hpp>

namespace fs = std::filesystem;
using fabricost::core::data_beside;

namespace {

/// An empty folder for the length of a test.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("fabricost-data-" + std::to_string(std::random_device{}()))) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  [[nodiscard]] fs::path with_systems(const fs::path& below) const {
    fs::create_directories(path_ / below / "systems");
    return path_ / below;
  }
  [[nodiscard]] fs::path operator/(const fs::path& below) const { return path_ / below; }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("a program finds the data of the prefix it stands in, however deep") {
  const Folder folder;
  const fs::path data = folder.with_systems("prefix/share/fabricost/data");
  CHECK(data_beside(folder / "prefix/bin/fabricost") == data);
  CHECK(data_beside(folder / "prefix/lib/x86_64-linux-gnu/libfabricost_io.so.1") == data);
  CHECK(data_beside(folder / "prefix/libexec/site/deeper/tool") == data);
}

TEST_CASE("the nearest data wins: a prefix inside another is its own") {
  const Folder folder;
  const fs::path outer = folder.with_systems("share/fabricost/data");
  const fs::path inner = folder.with_systems("opt/share/fabricost/data");
  CHECK(data_beside(folder / "opt/bin/fabricost") == inner);
  CHECK(data_beside(folder / "bin/fabricost") == outer);
}

TEST_CASE("data that a stranger put into a folder open to all is not taken") {
  const Folder folder;
  const fs::path data = folder.with_systems("tmp/share/fabricost/data");
  CHECK(data_beside(folder / "tmp/mine/bin/fabricost") == data);
  fs::permissions(folder / "tmp", fs::perms::all | fs::perms::sticky_bit);
  CHECK(data_beside(folder / "tmp/mine/bin/fabricost") != data);
}

TEST_CASE("the command of a wheel finds the data of its package") {
  const Folder folder;
  const fs::path data = folder.with_systems("site-packages/fabricost/data");
  CHECK(data_beside(folder / "site-packages/fabricost/bin/fabricost") == data);
}

TEST_CASE("a link of a build tree leads to the sources") {
  const Folder folder;
  const fs::path sources = folder.with_systems("checkout/data");
  fs::create_directories(folder / "build/share/fabricost");
  fs::create_directory_symlink(sources, folder / "build/share/fabricost/data");
  CHECK(data_beside(folder / "build/tests/test_packaging") == fs::canonical(sources));
}

TEST_CASE("a folder without systems is passed over, a relative path says nothing") {
  const Folder folder;
  fs::create_directories(folder / "prefix/share/fabricost/data");
  const fs::path outer = folder.with_systems("share/fabricost/data");
  CHECK(data_beside(folder / "prefix/bin/fabricost") == outer);
  CHECK(data_beside("bin/fabricost").empty());
  CHECK(data_beside("").empty());
}

TEST_CASE("the tests themselves read the sources they were built from") {
  REQUIRE(std::getenv("FABRICOST_DATA") == nullptr);
  CHECK(fs::canonical(fabricost::core::data_directory()) == fs::canonical(fs::path{FABRICOST_SOURCE_DIR} / "data"));
}

TEST_CASE("version.hpp says one version in all its forms") {
  const std::string joined = std::to_string(FABRICOST_VERSION_MAJOR) + "." + std::to_string(FABRICOST_VERSION_MINOR) + "." +
                             std::to_string(FABRICOST_VERSION_PATCH);
  CHECK(joined == FABRICOST_VERSION);
}
