/// \file contain.cpp
/// Run by the build of the page on the machine that builds: parses the YAML files of some folders of data/ and writes a C++ file that
/// contains them by name (specs/sources/contained.hpp).
///
///     fabricost_contain DATA_DIRECTORY OUTPUT.cpp FOLDER...

#include "specs/sources/contained.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// Writes bytes as string literals of one source line each, since compilers limit the length of a literal.
std::string literals(const std::string& bytes) {
  constexpr std::size_t per_line = 1000;
  constexpr std::string_view digits = "01234567";
  std::string out = bytes.empty() ? "  \"" : "";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % per_line == 0) out += i == 0 ? "  \"" : "\"\n  \"";
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool plain = byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\' && byte != '?';
    if (plain) {
      out += bytes[i];
    } else {
      out += '\\';
      for (const unsigned shift : {6U, 3U, 0U}) out += digits[(byte >> shift) & 7U];
    }
  }
  return out + '"';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: fabricost_contain DATA_DIRECTORY OUTPUT.cpp FOLDER...\n", stderr);
    return 2;
  }
  try {
    const fs::path data = argv[1];
    std::vector<fs::path> files;
    for (int i = 3; i < argc; ++i)
      for (const auto& entry : fs::recursive_directory_iterator(data / argv[i]))
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<fabricost::core::NamedTree> trees;
    for (const fs::path& file : files) trees.push_back({file.lexically_relative(data).generic_string(), fabricost::core::parse_spec(file)});
    std::ofstream out(argv[2], std::ios::binary);
    out << "// written by fabricost_contain from " << files.size() << " files of data/\n"
        << "#include \"web/contained_files.hpp\"\n\n"
        << "namespace fabricost::web {\n\nnamespace {\nconstexpr char bytes[] =\n"
        << literals(fabricost::core::contained_bytes(trees)) << ";\n}\n\nconst std::string_view contained_files{bytes, sizeof bytes - 1};\n\n}\n";
    out.flush();
    if (!out) throw std::runtime_error(std::string{argv[2]} + ": could not be written");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fabricost_contain: %s\n", error.what());
    return 1;
  }
}
