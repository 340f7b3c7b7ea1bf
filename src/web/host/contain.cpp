/// Run by the build of the page on the machine that builds: parses the YAML files of some folders of data/ and writes a C++ file that
/// contains them by name (specs/sources/contained.hpp).
///
///     fabricost_contain DATA_DIRECTORY OUTPUT.cpp FOLDER...

#include "web/host/contained_text.hpp"

#include <cstdio>
#include <exception>
#include <fstream>

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: fabricost_contain DATA_DIRECTORY OUTPUT.cpp FOLDER...\n", stderr);
    return 2;
  }
  try {
    std::ofstream out(argv[2], std::ios::binary);
    out << "// written by fabricost_contain from data/\n#include \"web/contained_files.hpp\"\n\n"
        << "namespace fabricost::web {\n\nnamespace {\nconstexpr char bytes[] =\n";
    for (const std::string& line : fabricost::web::contained_lines(argv[1], {argv + 3, argv + argc}))
      out << "  " << nlohmann::json(line).dump() << "\n";  // what escapes a text in JSON escapes it in C++
    out << "  \"\";\n}\n\nconst std::string_view contained_files{bytes, sizeof bytes - 1};\n\n}\n";
    out.flush();
    if (!out) throw std::runtime_error(std::string{argv[2]} + ": could not be written");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fabricost_contain: %s\n", error.what());
    return 1;
  }
}
