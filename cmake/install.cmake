# `cmake --install`, also by parts: Runtime is the command and the data, Development headers, compiled library and package files.
# Nothing installed names the prefix: a tree can be moved, staged with DESTDIR and packed.
include(CMakePackageConfigHelpers)
set(package_files ${CMAKE_INSTALL_LIBDIR}/cmake/fabricost)
list(TRANSFORM FABRICOST_COMPONENTS PREPEND fabricost_ OUTPUT_VARIABLE libraries)
install(TARGETS fabricost fabricost_header_only ${libraries} fabricost_io EXPORT fabricost-targets
  LIBRARY COMPONENT Runtime NAMELINK_COMPONENT Development ARCHIVE COMPONENT Development)
if(TARGET fabricost_tool)
  install(TARGETS fabricost_tool RUNTIME COMPONENT Runtime)
endif()
install(DIRECTORY data/ DESTINATION ${FABRICOST_INSTALL_DATADIR} COMPONENT Runtime)
install(FILES LICENSE THIRD_PARTY.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Runtime)
file(GLOB_RECURSE papers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS docs/*.md docs/*.png examples/*.cpp examples/*.hpp examples/*.sh examples/*.ipynb)
foreach(paper IN LISTS papers)
  cmake_path(GET paper PARENT_PATH folder)
  install(FILES ${paper} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT Development)
endforeach()
install(DIRECTORY include/fabricost ${PROJECT_BINARY_DIR}/include/fabricost DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Development)
# the installed version.hpp also says where the data is, from the header that uses it: compiled_part.hpp
file(RELATIVE_PATH data_from_header /${CMAKE_INSTALL_INCLUDEDIR}/fabricost/compiled_part.hpp /${FABRICOST_INSTALL_DATADIR})
file(READ ${PROJECT_BINARY_DIR}/include/fabricost/version.hpp version_header)
file(WRITE ${PROJECT_BINARY_DIR}/installed/version.hpp "${version_header}
/// Where the data of this installation is, seen from compiled_part.hpp.
#ifndef FABRICOST_DATA_DIRECTORY
#define FABRICOST_DATA_DIRECTORY __FILE__ \"/${data_from_header}\"
#endif
")
install(FILES ${PROJECT_BINARY_DIR}/installed/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fabricost COMPONENT Development)

install(EXPORT fabricost-targets NAMESPACE fabricost:: DESTINATION ${package_files} COMPONENT Development)
# below installed/, where find_package does not take the build folder for a package
configure_package_config_file(cmake/fabricost-config.cmake.in ${PROJECT_BINARY_DIR}/installed/fabricost-config.cmake
  INSTALL_DESTINATION ${package_files} PATH_VARS FABRICOST_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/installed/fabricost-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/installed/fabricost-config.cmake ${PROJECT_BINARY_DIR}/installed/fabricost-config-version.cmake
  DESTINATION ${package_files} COMPONENT Development)

# pkg-config: what a static library needs stands among its own requirements, since nobody asks with --static for a library that has no other
set(needs yaml-cpp fmt)
if("observe" IN_LIST FABRICOST_COMPONENTS)
  list(APPEND needs pugixml zlib libzstd sqlite3)
endif()
if(BUILD_SHARED_LIBS)
  string(JOIN ", " requires_private ${needs})
  set(requires_public "")
else()
  string(JOIN ", " requires_public ${needs})
  set(requires_private "")
endif()
set(libs "")
foreach(component IN LISTS FABRICOST_COMPONENTS)  # each before those it builds on
  string(PREPEND libs "-lfabricost_${component} ")
endforeach()
string(APPEND libs "-lfabricost")
foreach(component plan observe)  # what their own files join to those before them
  if(component IN_LIST FABRICOST_COMPONENTS)
    string(PREPEND libs "-Wl,-u,fabricost_${component}_joined ")
  endif()
endforeach()
if(CMAKE_DL_LIBS AND NOT BUILD_SHARED_LIBS)
  string(APPEND libs " -l${CMAKE_DL_LIBS}")
endif()
file(RELATIVE_PATH up_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up_from_pkgconfig ${up_from_pkgconfig})
configure_file(cmake/fabricost.pc.in ${PROJECT_BINARY_DIR}/fabricost.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fabricost.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
    COMMENT "Removing what the last installation wrote" VERBATIM)
endif()
