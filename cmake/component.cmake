# A component of the library, from the folders beside the CMakeLists that calls this:
#   fabricost_component(NAME ON TARGET... [MODEL FOLDER...] [SMALL FOLDER...] [FAST FOLDER or FILE...] [LATER FOLDER or FILE...] [USES PACKAGE...])
# MODEL: bodies of the model's headers. SMALL: what runs once per question. FAST: what fits and prices many questions; apart,
# so that either's files can be compiled together. LATER: as FAST, and not needed for the first answers of ./quickstart, which
# fabricost_NAME_first has the rest for. ON: what it builds on. USES: what it links and does not show.
include_guard()
# All components, each with those before it.
set(FABRICOST_KNOWN_COMPONENTS core plan observe probes)
# All folders that sources name each other's headers from.
cmake_path(SET src NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../src)
set(FABRICOST_SOURCE_FOLDERS ${src})
foreach(component IN LISTS FABRICOST_KNOWN_COMPONENTS)
  list(APPEND FABRICOST_SOURCE_FOLDERS ${src}/${component})
endforeach()

# A target's folders, warnings and the like, in common.
function(fabricost_part target)
  target_include_directories(${target} PRIVATE ${FABRICOST_SOURCE_FOLDERS})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  fabricost_warnings(${target})
  fabricost_reproducible(${target})
endfunction()

# The model's bodies: nobody replaces a function of them, so that it may be inlined where it is called, as clang does.
function(fabricost_model_part target)
  fabricost_compiled_for(${target} model)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endif()
  fabricost_hardened(${target} fast)
endfunction()

# A library of its own version and name, in the way all of them are. Structs of the headers cross into compiled code: no two versions are
# interchangeable (compiled_part.hpp).
function(fabricost_library target export_name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name} DEFINE_SYMBOL "" VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION})
  if(BUILD_SHARED_LIBS)
    target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/symbols.map)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${PROJECT_BINARY_DIR}/symbols.map)
  endif()
endfunction()

# The sources of some folders and files.
function(fabricost_sources out)
  set(found "")
  foreach(place IN LISTS ARGN)
    if(place MATCHES "\\.cpp$")
      list(APPEND found ${CMAKE_CURRENT_SOURCE_DIR}/${place})
    else()
      file(GLOB files CONFIGURE_DEPENDS ${place}/*.cpp)
      list(APPEND found ${files})
    endif()
  endforeach()
  list(REMOVE_ITEM found ${FABRICOST_WRITE_FILE})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Objects of a component, compiled for `purpose`.
function(fabricost_objects target purpose hardened)
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE ${arg_ON} ${arg_USES})
  fabricost_part(${target})
  fabricost_compiled_for(${target} ${purpose})
  fabricost_hardened(${target} ${hardened})
endfunction()

function(fabricost_component name)
  cmake_parse_arguments(arg "" "" "ON;MODEL;SMALL;FAST;LATER;USES" ${ARGN})
  fabricost_sources(later ${arg_LATER})
  fabricost_sources(fast ${arg_FAST})
  fabricost_sources(small ${arg_SMALL})
  list(REMOVE_ITEM small ${fast} ${later})
  set(target fabricost_${name})
  fabricost_objects(${target}_small size small ${small})
  set(parts $<TARGET_OBJECTS:${target}_small>)
  if(fast)
    fabricost_objects(${target}_fast speed fast ${fast})
    set_target_properties(${target}_fast PROPERTIES UNITY_BUILD_BATCH_SIZE 8)  # compiled for speed, a file takes longest here
    list(APPEND parts $<TARGET_OBJECTS:${target}_fast>)
  endif()
  if(arg_MODEL)
    fabricost_sources(model ${arg_MODEL})
    add_library(${target}_model OBJECT ${model})
    set_target_properties(${target}_model PROPERTIES UNITY_BUILD_MODE GROUP)
    foreach(source IN LISTS model)  # what calls each other is compiled together
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(GET folder FILENAME group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
    target_link_libraries(${target}_model PRIVATE ${arg_ON})
    fabricost_part(${target}_model)
    fabricost_model_part(${target}_model)
    list(APPEND parts $<TARGET_OBJECTS:${target}_model>)
  endif()
  if(later)
    add_library(${target}_first STATIC EXCLUDE_FROM_ALL ${parts})
    target_link_libraries(${target}_first PUBLIC ${arg_ON} PRIVATE ${arg_USES})
    fabricost_objects(${target}_later speed fast ${later})
    set_target_properties(${target}_later PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
    set_target_properties(${target}_first PROPERTIES LINKER_LANGUAGE CXX)
    list(APPEND parts $<TARGET_OBJECTS:${target}_later>)
  endif()
  add_library(${target} ${parts})  # static unless BUILD_SHARED_LIBS
  add_library(fabricost::${name} ALIAS ${target})
  target_link_libraries(${target} PUBLIC ${arg_ON} PRIVATE ${arg_USES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON LINKER_LANGUAGE CXX)
  fabricost_hardened(${target} small)
  fabricost_library(${target} ${name})
endfunction()
