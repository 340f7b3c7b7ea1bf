# Headers, the compiled io library, the command, the data and the package files for find_package.
include(CMakePackageConfigHelpers)
install(TARGETS fabricost fabricost_io EXPORT fabricost-targets)
if(TARGET fabricost_tool)
  install(TARGETS fabricost_tool)
endif()
install(DIRECTORY include/fabricost DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY data/ DESTINATION ${FABRICOST_INSTALL_DATADIR})
install(EXPORT fabricost-targets NAMESPACE fabricost:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fabricost)
configure_package_config_file(cmake/fabricost-config.cmake.in ${PROJECT_BINARY_DIR}/fabricost-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fabricost)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fabricost-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fabricost-config.cmake ${PROJECT_BINARY_DIR}/fabricost-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fabricost)
