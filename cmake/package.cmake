# `cpack -G DEB` and `cpack -G TGZ` in a build tree. Debian packages: fabricost (command, data) and libfabricost-dev; one archive with all.
# With SOURCE_DATE_EPOCH set the same build gives the same bytes.
set(CPACK_PACKAGE_NAME fabricost)
set(CPACK_PACKAGE_VENDOR "the fabricost authors")
set(CPACK_PACKAGE_CONTACT "the fabricost authors <fabricost@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_HOMEPAGE_URL "${PROJECT_HOMEPAGE_URL}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME fabricost-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR TGZ)
find_program(dpkg_shlibdeps dpkg-shlibdeps)
if(dpkg_shlibdeps)
  list(PREPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_modes.cmake)
set(CPACK_COMPONENTS_ALL Runtime Development)

# the prefix is the generators' own: /usr in a Debian package, none in an archive
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME fabricost)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${PROJECT_DESCRIPTION}
The command fabricost predicts how long collectives, training steps and serving take on machines of many GPUs, explains the answer,
reads logs of real runs and fits itself to them. Hardware specs come along, with a source for every number.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfabricost-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "fabricost (= ${PROJECT_VERSION}), libboost-dev, libyaml-cpp-dev, libfmt-dev, libpugixml-dev, zlib1g-dev, libzstd-dev, libsqlite3-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "C++ library fabricost, for compiling with it
Headers, the static library that reads files, and files for CMake's find_package and for pkg-config.")

include(CPack)
