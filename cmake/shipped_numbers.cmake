# Numbers of data/ that the headers need where nobody reads files: tables of tuners and engines, priors of constants. Written as C++ when the
# library is configured, so that a number stands once, in data/, and costs a program nothing.
#
#     cmake -DDATA=FOLDER -DOUT=FOLDER -P shipped_numbers.cmake
#
# Understands a part of YAML: `key: value` lines, lists in brackets that may go on over several lines, `{value: ..., source: ...}`, one map or
# list to a line, quoted texts without escapes. tests/unit/specs/check_compiled.py holds the files to their schemas.
cmake_minimum_required(VERSION 3.25)

# The lines of a file: `lines`, how many, and of the i-th `key_i`, `value_i`, `indent_i` (columns before the key) and `where_i`.
function(fabricost_read file)
  file(READ ${file} text)
  set(number 0)
  set(lines 0)
  while(NOT text STREQUAL "")
    set(line "")
    while(TRUE)  # a list goes on while its brackets are open
      string(FIND "${text}" "\n" end)
      string(SUBSTRING "${text}" 0 ${end} more)
      math(EXPR next "${end} + 1")
      string(SUBSTRING "${text}" ${next} -1 text)
      math(EXPR number "${number} + 1")
      string(APPEND line "${more}")
      string(REGEX REPLACE "\"[^\"]*\"" "" open "${line}")
      string(REGEX REPLACE "#.*" "" open "${open}")
      string(REGEX REPLACE "[^[]" "" opened "${open}")
      string(REGEX REPLACE "[^]]" "" closed "${open}")
      string(LENGTH "${opened}" opened)
      string(LENGTH "${closed}" closed)
      if(opened EQUAL closed OR text STREQUAL "")
        break()
      endif()
    endwhile()
    if(open MATCHES "^ *$")
      continue()
    endif()
    if(NOT line MATCHES "^( *)(- )?([a-z0-9_.-]+): *(.*)$")
      message(FATAL_ERROR "${file}:${number}: is no `key: value` line: ${line}")
    endif()
    math(EXPR lines "${lines} + 1")
    set(key_${lines} "${CMAKE_MATCH_3}" PARENT_SCOPE)
    set(value_${lines} "${CMAKE_MATCH_4}" PARENT_SCOPE)
    set(where_${lines} "${file}:${number}" PARENT_SCOPE)
    string(LENGTH "${CMAKE_MATCH_1}${CMAKE_MATCH_2}" indent)
    set(indent_${lines} ${indent} PARENT_SCOPE)
  endwhile()
  set(lines ${lines} PARENT_SCOPE)
endfunction()

# A value with its units as a C++ initialiser: 1.2 us is 1.2e-6. Of {value: ..., source: ...} the value.
function(fabricost_cpp value out)
  string(REGEX REPLACE "\"[^\"]*\"" "" value "${value}")
  string(REGEX REPLACE " *#.*" "" value "${value}")
  string(REGEX REPLACE ", *(source|confidence): *[^],}]*" "" value "${value}")
  if(value MATCHES ", unit: ([A-Za-z]+)")  # of each number of a list
    set(unit ${CMAKE_MATCH_1})
    string(REGEX REPLACE ", unit: [A-Za-z/]+" "" value "${value}")
    string(REGEX REPLACE "([0-9.]+)" "\\1 ${unit}" value "${value}")
  endif()
  string(REGEX REPLACE "^{value: *(.*)}$" "\\1" value "${value}")
  string(REPLACE "[" "{" value "${value}")
  string(REPLACE "]" "}" value "${value}")
  foreach(unit "ns=e-9" "us=e-6" "ms=e-3" "s=" "B=" "kB=e3" "MB=e6" "GB=e9" "TB=e12" "PB=e15" "KiB= * 1024.0" "MiB= * 1048576.0" "GiB= * 1073741824.0")
    string(REGEX MATCH "^([A-Za-z]+)=(.*)$" found "${unit}")
    string(REGEX REPLACE "([0-9]) ${CMAKE_MATCH_1}([,} ]|$)" "\\1${CMAKE_MATCH_2}\\2" value "${value}")
  endforeach()
  set(${out} "${value}" PARENT_SCOPE)
endfunction()

# The documents of a folder, by name; configures again when one comes, goes or changes.
function(fabricost_files out folder)
  if(CMAKE_SCRIPT_MODE_FILE)
    file(GLOB files ${folder}/*.yaml)
  else()
    file(GLOB files CONFIGURE_DEPENDS ${folder}/*.yaml)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  endif()
  list(SORT files COMPARE NATURAL)
  set(${out} ${files} PARENT_SCOPE)
endfunction()

function(fabricost_write file text)
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)  # only where it differs
endfunction()

# Versions of tuners: data/tuners/NAME.yaml, by name; the last is the newest.
function(fabricost_tuners data out)
  fabricost_files(files ${data}/tuners)
  set(names "")
  set(enumerators "")
  set(tables "")
  foreach(file IN LISTS files)
    cmake_path(GET file FILENAME name)
    string(REGEX REPLACE "\\.yaml$" "" name "${name}")
    string(REGEX REPLACE "[-.]" "_" enumerator "${name}")
    string(APPEND names "\"${name}\", ")
    string(APPEND enumerators "${enumerator}, ")
    set(newest ${enumerator})
    string(APPEND tables "    {")
    fabricost_read(${file})
    foreach(i RANGE 1 ${lines})
      if(NOT key_${i} MATCHES "^(name|title|library|version|source|confidence|notes)$")
        fabricost_cpp("${value_${i}}" value)
        string(APPEND tables "\n        .${key_${i}} = ${value},")
      endif()
    endforeach()
    string(APPEND tables "\n    },\n")
  endforeach()
  list(LENGTH files count)
  fabricost_write(${out}/hardware/shipped_tuners.inc "/// A part of hardware/tuner.hpp. data/tuners as tables: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core {

enum class Tuner : unsigned char { ${enumerators}};
inline constexpr std::array<std::string_view, ${count}> tuner_names{${names}};
inline constexpr Tuner newest_tuner = Tuner::${newest};
inline constexpr std::array<TunerTables, ${count}> tuner_tables{{
${tables}}};

}  // namespace fabricost::core
")
endfunction()

# Tuner plugins: data/plugins/NAME.yaml, polygons of [bytes, ranks] by collective and ranks of a node.
function(fabricost_plugins data out)
  fabricost_files(files ${data}/plugins)
  set(names "\"none\"")
  set(enumerators "none")
  set(corners "")
  set(regions "")
  set(calls "")
  set(corner 0)
  set(region 0)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    string(REPLACE "-" "_" enumerator ${name})
    string(APPEND names ", \"${name}\"")
    string(APPEND enumerators ", ${enumerator}")
    fabricost_read(${file})
    set(open FALSE)
    foreach(i RANGE 1 ${lines})
      fabricost_cpp("${value_${i}}" value)
      if(key_${i} STREQUAL "fewest_nodes" OR key_${i} STREQUAL "library_from")
        set(${key_${i}} "${value}")
      elseif(key_${i} STREQUAL "when")
        if(open)
          string(APPEND calls "${count}},\n")
        endif()
        if(NOT value MATCHES "^{collective: ([a-z_]+), ranks_per_node: ([0-9]+)}$")
          message(FATAL_ERROR "${where_${i}}: is no collective with ranks of a node: ${value}")
        endif()
        string(APPEND calls "    {TunerPlugin::${enumerator}, Collective::${CMAKE_MATCH_1}, ${CMAKE_MATCH_2}, ${fewest_nodes}, ${library_from}, "
          "${region}, ")
        set(count 0)
        set(open TRUE)
      elseif(indent_${i} EQUAL 8)
        if(NOT key_${i} MATCHES "^([a-z_]+)_(ll|ll128|simple)$")
          message(FATAL_ERROR "${where_${i}}: is no algorithm with its protocol: ${key_${i}}")
        endif()
        set(algorithm ${CMAKE_MATCH_1})
        set(protocol ${CMAKE_MATCH_2})
        string(REGEX REPLACE "^{(.*)}$" "\\1" value "${value}")
        string(REGEX REPLACE "[^{]" "" each "${value}")
        string(LENGTH "${each}" points)
        string(APPEND corners "    ${value},\n")
        string(APPEND regions "    {{Algorithm::${algorithm}, Protocol::${protocol}}, ${corner}, ${points}},\n")
        math(EXPR corner "${corner} + ${points}")
        math(EXPR region "${region} + 1")
        math(EXPR count "${count} + 1")
      endif()
    endforeach()
    string(APPEND calls "${count}},\n")
  endforeach()
  list(LENGTH files count)
  math(EXPR count "${count} + 1")
  fabricost_write(${out}/hardware/shipped_plugin_names.inc "/// A part of hardware/transport.hpp. Files of data/plugins: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core {

enum class TunerPlugin : unsigned char { ${enumerators} };
inline constexpr std::array<std::string_view, ${count}> tuner_plugin_names{${names}};

}  // namespace fabricost::core
")
  fabricost_write(${out}/choice/shipped_plugins.inc "/// A part of choice/plugin.hpp. data/plugins as tables: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core {

inline constexpr auto plugin_corners = std::to_array<PluginCorner>({
${corners}});
inline constexpr auto plugin_regions = std::to_array<PluginRegion>({
${regions}});
inline constexpr auto plugin_calls = std::to_array<PluginCalls>({
${calls}});

}  // namespace fabricost::core
")
endfunction()

# "0.5.13" as 5013, as version_number() of choice/engine_kernels.hpp
function(fabricost_version text out)
  string(REGEX MATCH "^([0-9]+)\\.?([0-9]*)\\.?([0-9]*)$" found "${text}")
  foreach(part 1 2 3)
    set(part_${part} 0${CMAKE_MATCH_${part}})
  endforeach()
  math(EXPR number "(${part_1} * 1000 + ${part_2}) * 1000 + ${part_3}")
  set(${out} ${number} PARENT_SCOPE)
endfunction()

# Names and hand-over sizes of engines: data/engines/NAME.yaml.
function(fabricost_engines data out)
  fabricost_files(files ${data}/engines)
  list(LENGTH files count)
  math(EXPR names_count "${count} + 1")
  set(engines "")
  set(enumerators "none")
  set(names "\"none\"")
  foreach(file IN LISTS files)
    fabricost_read(${file})
    cmake_path(GET file STEM stem)
    set(rules "")
    set(most_ranks 8)
    set(experts "")
    set(called "")
    set(kernels "")
    set(rows 0)
    foreach(i RANGE 1 ${lines})
      set(value "${value_${i}}")
      if(NOT key_${i} MATCHES "^(title|source|notes)$")
        while(value MATCHES "\"([0-9.]+)\"")
          set(text "${CMAKE_MATCH_0}")
          fabricost_version("${CMAKE_MATCH_1}" version)
          string(REPLACE "${text}" "${version}" value "${value}")
        endwhile()
      endif()
      if(key_${i} MATCHES "^(library|pcie_ranks|most_ranks|experts|called)$")
        set(${key_${i}} "${value}")
      elseif(key_${i} STREQUAL "kernels")
        string(REGEX REPLACE "([a-z0-9-]+): ([a-z_]+)" "{\"\\1\", CollectiveKernel::\\2}" kernels "${value}")
      elseif(key_${i} STREQUAL "across_nodes_from")
        string(REPLACE "value: never" "value: std::numeric_limits<int>::max()" value "${value}")
        fabricost_cpp("${value}" across_nodes_from)
      elseif(key_${i} STREQUAL "when")
        string(REGEX REPLACE " *#.*" "" value "${value}")
        string(REGEX REPLACE "generation: ([a-z0-9]+)" "generation: Generation::\\1" value "${value}")
        string(REGEX REPLACE "([a-z_]+): " ".\\1 = " value "${value}")
        if(rows)
          string(APPEND rules "}},\n")
        endif()
        string(APPEND rules "            {.when = ${value}, .kernels = {")
        math(EXPR rows "${rows} + 1")
      elseif(indent_${i} EQUAL 4)
        fabricost_cpp("${value}" value)
        string(REGEX REPLACE "(below|to): " ".\\1 = " value "${value}")
        string(REGEX REPLACE "^{" "{.kernel = CollectiveKernel::${key_${i}}, " value "${value}")
        string(APPEND rules "\n                ${value},")
      endif()
    endforeach()
    string(APPEND engines "    {.name = \"${stem}\", .library = InferenceLibrary::${library}, .pcie_ranks = ${pcie_ranks}, "
      ".across_nodes_from = ${across_nodes_from}, .most_ranks = ${most_ranks}, .experts = \"${experts}\", .called = \"${called}\", .kernels = {${kernels}}, .rules = ${rows}, "
      ".hand_over = {\n${rules}}}\n        }},\n")
    string(APPEND enumerators ", ${library}")
    string(APPEND names ", \"${library}\"")
  endforeach()
  fabricost_write(${out}/choice/shipped_engine_names.inc "/// A part of choice/engine_kernels.hpp. The names of data/engines: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core {

enum class InferenceLibrary : unsigned char { ${enumerators} };
inline constexpr std::array<std::string_view, ${names_count}> inference_library_names{${names}};

}  // namespace fabricost::core
")
  fabricost_write(${out}/choice/shipped_engines.inc "/// A part of choice/engine_kernels-inl.hpp. data/engines as tables: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core::detail {

inline constexpr std::array<EngineTable, ${count}> engine_tables{{
${engines}}};

}  // namespace fabricost::core::detail
")
endfunction()

# Kernels of expert exchange that have the form of another: data/exchanges/NAME.yaml.
function(fabricost_exchanges data out)
  fabricost_files(files ${data}/exchanges)
  list(LENGTH files count)
  set(kernels "")
  foreach(file IN LISTS files)
    fabricost_read(${file})
    foreach(i RANGE 1 ${lines})
      set(value "${value_${i}}")
      if(key_${i} STREQUAL "name")
        string(APPEND kernels "    {\n        .name = \"${value}\",\n")
      elseif(key_${i} STREQUAL "notes")
        string(APPEND kernels "        .notes = ${value},\n")
      elseif(key_${i} STREQUAL "form")
        string(REPLACE "-" "_" value "${value}")
        string(APPEND kernels "        .form = MoeKernel::${value},\n")
      elseif(key_${i} STREQUAL "sends")
        string(APPEND kernels "        .sends = Precision::${value},\n")
      elseif(key_${i} MATCHES "^(dispatch|combine|chunk|sms|tokens|spread)$")
        fabricost_cpp("${value}" value)
        string(REGEX REPLACE "([a-z_]+): " ".\\1 = " value "${value}")
        string(APPEND kernels "        .${key_${i}} = ${value},\n")
      elseif(NOT key_${i} MATCHES "^(title|source|confidence)$")
        message(FATAL_ERROR "${where_${i}}: is no key of a kernel of expert exchange: ${key_${i}}")
      endif()
    endforeach()
    string(APPEND kernels "    },\n")
  endforeach()
  fabricost_write(${out}/experts/shipped_exchanges.inc "/// A part of experts/moe_kernels.hpp. data/exchanges as a table: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core {

inline constexpr std::array<ExchangeKernel, ${count}> exchange_kernels{{
${kernels}}};

}  // namespace fabricost::core
")
endfunction()

# Priors of constants: data/priors/SET.yaml and intervals.yaml.
function(fabricost_priors data out)
  set(tables "")
  set(sources "")
  fabricost_files(files ${data}/priors)
  set(sets scale_up pcie transport compute custom moe)
  set(blocks ScaleUp Pcie Transport Compute Custom Moe)
  foreach(set block IN ZIP_LISTS sets blocks)
    string(REPLACE "_" "-" name ${set})
    fabricost_read(${data}/priors/${name}.yaml)
    string(APPEND tables "inline constexpr auto ${set}_parameters = std::to_array<Parameter>({\n")
    foreach(i RANGE 1 ${lines})
      if(key_${i} STREQUAL "source" AND indent_${i} EQUAL 0)
        string(APPEND sources "    ${value_${i}},\n")
      elseif(indent_${i} EQUAL 2)
        string(REGEX REPLACE "^{(.*)}$" "\\1" columns "${value_${i}}")
        set(member ${key_${i}})
        if(columns MATCHES "member: \"([^\"]*)\"")
          set(member "${CMAKE_MATCH_1}")
        endif()
        set(place "__builtin_offsetof(${block}Constants, ${member})")
        if(member MATCHES "^([a-z_]+)\\[([0-9])\\]$")
          set(place "__builtin_offsetof(${block}Constants, ${CMAKE_MATCH_1}) + ${CMAKE_MATCH_2} * sizeof(double)")
        endif()
        fabricost_cpp("${columns}" columns)
        foreach(column value kind min max fit spread latency rate follows)
          set(${column} 0)
          if(", ${columns}," MATCHES ", ${column}: ([^,]*),")
            set(${column} "${CMAKE_MATCH_1}")
          endif()
        endforeach()
        string(APPEND tables "    {\"${key_${i}}\", ConstantSet::${set}, \"${member}\", ${place}, ConstantKind::${kind}, "
          "${value}, ${min}, ${max}, FitTreatment::${fit}, ${spread}, ${latency}, ${rate}, ${follows}},\n")
      endif()
    endforeach()
    string(APPEND tables "});\n")
  endforeach()
  fabricost_write(${out}/hardware/shipped_priors.inc "/// A part of hardware/parameters.hpp. data/priors as tables: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core {

inline constexpr std::string_view prior_sources[]{
${sources}};
${tables}
}  // namespace fabricost::core
")
  fabricost_read(${data}/priors/intervals.yaml)
  set(fitted "")
  set(general "")
  foreach(i RANGE 1 ${lines})
    if(indent_${i} EQUAL 2)
      fabricost_cpp("${value_${i}}" value)
      string(REGEX REPLACE "[{}]" "" value "${value}")
      string(REGEX REPLACE "^value: " "" value "${value}")
      if(value MATCHES "^([^,]*), set: (.*)$")
        string(APPEND fitted "    {\"${key_${i}}\", &IntervalWidths::${key_${i}}, ${CMAKE_MATCH_1}, ConstantSet::${CMAKE_MATCH_2}},\n")
      else()
        string(APPEND general "    {\"${key_${i}}\", &IntervalWidths::${key_${i}}, ${value}},\n")
      endif()
    endif()
  endforeach()
  fabricost_write(${out}/hardware/shipped_widths.inc "/// A part of hardware/interval_widths.hpp. data/priors as tables: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core {

/// Widths that a fit finds, by the name they have in a calibration file.
inline constexpr auto interval_widths = std::to_array<NamedWidth>({
${fitted}});
/// Widths that all machines have in common.
inline constexpr auto general_widths = std::to_array<NamedWidth>({
${general}});

}  // namespace fabricost::core
")
endfunction()

# Numbers by name: the files of a folder with a map `numbers`, each a namespace. One with min, max and spread has NAME_fit beside it.
function(fabricost_named data folder outer out)
  fabricost_files(files ${data}/${folder})
  set(text "")
  foreach(file IN LISTS files)
    fabricost_read(${file})
    set(rows "")
    set(inside FALSE)
    foreach(i RANGE 1 ${lines})
      if(indent_${i} EQUAL 0)
        if(key_${i} STREQUAL "numbers")
          set(inside TRUE)
        endif()
      elseif(inside)
        fabricost_cpp("${value_${i}}" value)
        if(NOT value MATCHES "^([^,}]+)(, min: ([^,]+), max: ([^,]+), spread: ([^}]+))?$")
          message(FATAL_ERROR "${where_${i}}: is no number: ${value_${i}}")
        endif()
        string(APPEND rows "inline constexpr double ${key_${i}} = ${CMAKE_MATCH_1};\n")
        if(CMAKE_MATCH_2)
          string(APPEND rows "inline constexpr FitRange ${key_${i}}_fit{${CMAKE_MATCH_3}, ${CMAKE_MATCH_4}, ${CMAKE_MATCH_5}};\n")
        endif()
      endif()
    endforeach()
    if(rows)
      cmake_path(GET file STEM space)
      string(REPLACE "-" "_" space ${space})
      string(APPEND text "namespace ${outer}::${space} {\n${rows}}  // namespace ${outer}::${space}\n\n")
    endif()
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(fabricost_numbers data out)
  fabricost_named(${data} priors prior priors)
  fabricost_named(${data} policies policy policies)
  set(prices "")
  fabricost_read(${data}/prices/default.yaml)
  foreach(i RANGE 1 ${lines})
    if(key_${i} MATCHES "^(load|pue|node_over_gpus|radix)$")
      fabricost_cpp("${value_${i}}" value)
      string(APPEND prices "inline constexpr double ${key_${i}} = ${value};\n")
    endif()
  endforeach()
  fabricost_write(${out}/shipped_numbers.hpp "#pragma once
/// Numbers of data/priors, data/policies and data/prices by name: cmake/shipped_numbers.cmake wrote this when the library was configured.

namespace fabricost::core {

/// The range in which a fit may take a number, and its standard deviation, in log, before any measurement.
struct FitRange {
  double min = 0, max = 0;
  double spread = 0;
};

${priors}${policies}namespace prior::prices {
${prices}}  // namespace prior::prices

}  // namespace fabricost::core
")
endfunction()

function(fabricost_shipped_numbers data out)
  fabricost_numbers(${data} ${out})
  fabricost_priors(${data} ${out})
  fabricost_tuners(${data} ${out})
  fabricost_engines(${data} ${out})
  fabricost_plugins(${data} ${out})
  fabricost_exchanges(${data} ${out})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  fabricost_shipped_numbers(${DATA} ${OUT})
endif()
