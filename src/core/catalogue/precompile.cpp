/// \file precompile.cpp
/// Run by the build: parses the YAML files of data/ and writes a C++ file with their catalogue (specs/catalogue.hpp).
///
///     fabricost_precompile DATA_DIRECTORY OUTPUT.cpp            found by their text
///     fabricost_precompile DATA_DIRECTORY OUTPUT.cpp FOLDER...  the files of these folders, found by name (specs/sources/contained.hpp)

#include "specs/catalogue.hpp"
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
  if (argc < 3) {
    std::fputs("usage: fabricost_precompile DATA_DIRECTORY OUTPUT.cpp [FOLDER...]\n", stderr);
    return 2;
  }
  try {
    const fs::path data = argv[1];
    const bool by_name = argc > 3;
    std::vector<fs::path> files;
    const auto add_files_of = [&](const fs::path& folder) {
      for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    };
    if (!by_name) add_files_of(data);
    for (int i = 3; i < argc; ++i) add_files_of(data / argv[i]);
    std::sort(files.begin(), files.end());
    std::vector<fabricost::core::ParsedDocument> documents;
    std::vector<fabricost::core::NamedTree> named;
    for (const fs::path& file : files) {
      fabricost::core::SpecNode root = fabricost::core::parse_spec(file);
      if (by_name)
        named.push_back({file.lexically_relative(data).generic_string(), std::move(root)});
      else
        documents.push_back({root.mark.file->text, std::move(root)});
    }
    const std::string bytes = by_name ? fabricost::core::contained_bytes(named) : fabricost::core::catalogue_of(documents);
    std::ofstream out(argv[2], std::ios::binary);
    out << "// written by fabricost_precompile from " << files.size() << " files of data/\n"
        << "#include \"catalogue/shipped_specs.hpp\"\n\n"
        << "namespace fabricost::core {\n\nnamespace {\nconstexpr char bytes[] =\n"
        << literals(bytes) << ";\n}\n\nconst std::string_view shipped_specs{bytes, sizeof bytes - 1};\n\n}\n";
    out.flush();
    if (!out) throw std::runtime_error(std::string{argv[2]} + ": could not be written");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fabricost_precompile: %s\n", error.what());
    return 1;
  }
}
