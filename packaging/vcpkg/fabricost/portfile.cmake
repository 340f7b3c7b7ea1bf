# Overlay port of the checkout it lies in: vcpkg install fabricost --overlay-ports=packaging/vcpkg
# A port in a registry takes SOURCE_PATH from vcpkg_from_github of a release instead.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS tool_option FEATURES tool FABRICOST_BUILD_TOOL)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DFABRICOST_INSTALL=ON -DFABRICOST_BUILD_TESTS=OFF -DFABRICOST_BUILD_EXAMPLES=OFF
  OPTIONS_RELEASE ${tool_option}
  OPTIONS_DEBUG -DFABRICOST_BUILD_TOOL=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/fabricost)
vcpkg_fixup_pkgconfig()
if("tool" IN_LIST FEATURES)
  # finds the data in share/fabricost of the triplet's folder, two above its own
  vcpkg_copy_tools(TOOL_NAMES fabricost AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/THIRD_PARTY.md")
