"""Conan 2 recipe of the checkout it lies in: conan create packaging/conan -s compiler.cppstd=gnu20

Eigen, Boost, yaml-cpp, fmt, pugixml, zlib, zstd, SQLite, CLI11 and nlohmann_json are the system's (quickstart: Debian's names),
not Conan's: that is the way this recipe is tested, and one machine then has one yaml-cpp.
find_package(fabricost) finds the package's own files.
"""
import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy


class Fabricost(ConanFile):
    name = "fabricost"
    description = "How long a communication takes on a machine of many GPUs, and why"
    license = "Apache-2.0"
    url = homepage = "https://github.com/fabricost/fabricost"
    topics = ("performance-model", "nccl", "gpu", "hpc")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "tool": [True, False]}
    default_options = {"shared": False, "tool": True}

    def _checkout(self):
        return pathlib.Path(self.recipe_folder).resolve().parents[1]

    def set_version(self):
        lists = (self._checkout() / "CMakeLists.txt").read_text(encoding="utf-8")
        self.version = re.search(r"project\(fabricost VERSION ([\d.]+)", lists)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "THIRD_PARTY.md", "CHANGELOG.md", "cmake/*", "include/*", "src/*", "data/*"):
            copy(self, pattern, self._checkout(), self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("fabricost is built and tested on Linux only")

    def layout(self):  # as a checkout has it: build/ beside the sources
        self.folders.build = "build"
        self.folders.generators = "build/generators"

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.blocks.remove("arch_flags")  # -m64 of a compiler that does no other; without it a compiler cache knows the objects
        toolchain.cache_variables |= {"FABRICOST_INSTALL": True, "FABRICOST_BUILD_TOOL": bool(self.options.tool),
                                      "FABRICOST_BUILD_TESTS": False, "FABRICOST_BUILD_EXAMPLES": False}
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for name in ("LICENSE", "THIRD_PARTY.md"):
            copy(self, name, self.source_folder, pathlib.Path(self.package_folder) / "licenses")

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package's own fabricost-config.cmake
        self.cpp_info.builddirs = ["lib/cmake/fabricost"]
        self.cpp_info.libs = ["fabricost_probes", "fabricost_observe", "fabricost_plan", "fabricost_core", "fabricost"]
        self.cpp_info.system_libs = ["yaml-cpp", "fmt", "pugixml", "z"]
