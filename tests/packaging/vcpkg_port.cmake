# Runs the port of packaging/vcpkg with vcpkg_functions.cmake in place of vcpkg's own, and builds a consumer against what it installs.
#   cmake -DCHECKOUT=FOLDER -DPLACE=FOLDER -DJOBS=N -P vcpkg_port.cmake
# The port is run in a copy of the checkout, as of a release, so that a compiler cache knows its files from the build beside them.
# Not tested: vcpkg's own dependencies and toolchains; for that, install the port with vcpkg.
cmake_minimum_required(VERSION 3.25)
set(SOURCE ${PLACE}/fabricost)
file(REMOVE_RECURSE ${PLACE}/packages ${PLACE}/moved ${PLACE}/consumer ${SOURCE})
file(COPY ${CHECKOUT}/CMakeLists.txt ${CHECKOUT}/LICENSE ${CHECKOUT}/THIRD_PARTY.md ${CHECKOUT}/CHANGELOG.md ${CHECKOUT}/cmake
  ${CHECKOUT}/include ${CHECKOUT}/src ${CHECKOUT}/data ${CHECKOUT}/packaging ${CHECKOUT}/tests/packaging/consumers DESTINATION ${SOURCE})
set(PORT fabricost)
set(FEATURES core tool)
set(CURRENT_PORT_DIR ${SOURCE}/packaging/vcpkg/${PORT})
set(CURRENT_PACKAGES_DIR ${PLACE}/packages)
set(BUILDTREE ${SOURCE}/build)
include(${CMAKE_CURRENT_LIST_DIR}/vcpkg_functions.cmake)

# the manifest: the version of the library, and features and dependencies as the port uses them
file(READ ${CURRENT_PORT_DIR}/vcpkg.json manifest)
file(STRINGS ${SOURCE}/CMakeLists.txt version REGEX "^project")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${version}")
string(JSON given GET "${manifest}" version)
string(JSON tool GET "${manifest}" features tool description)
if(NOT given STREQUAL version)
  message(FATAL_ERROR "vcpkg.json: version ${given}, but project(VERSION) is ${version}")
endif()

# in a function of its own, as vcpkg runs it: with CMAKE_CURRENT_LIST_DIR of the port
include(${CURRENT_PORT_DIR}/portfile.cmake)

# vcpkg refuses ports that leave these, or lack that
foreach(path debug/include debug/share lib/cmake bin share/doc)
  if(EXISTS ${CURRENT_PACKAGES_DIR}/${path})
    message(FATAL_ERROR "the port leaves ${path}")
  endif()
endforeach()
foreach(path share/${PORT}/copyright share/${PORT}/usage share/${PORT}/data/systems
    share/${PORT}/fabricost-config.cmake include/fabricost/version.hpp lib/libfabricost_core.a)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${path})
    message(FATAL_ERROR "the port installs no ${path}")
  endif()
endforeach()

# vcpkg moves packages/NAME_TRIPLET into installed/TRIPLET: so is it here, before it is used
file(RENAME ${CURRENT_PACKAGES_DIR} ${PLACE}/moved)
run(${PLACE}/moved/tools/${PORT}/fabricost predict all_reduce --system dgx-h100 --size 256MiB)
run(${CMAKE_COMMAND} -S ${SOURCE}/consumers/find_package -B ${PLACE}/consumer -G Ninja -DCMAKE_PREFIX_PATH=${PLACE}/moved
  -Dfabricost_DIR=${PLACE}/moved/share/fabricost)
run(${CMAKE_COMMAND} --build ${PLACE}/consumer)
# away from the build tree, whose data programs inside it find
if(DEFINED ENV{TMPDIR})
  set(away $ENV{TMPDIR}/fabricost-vcpkg-consumer)
else()
  set(away /tmp/fabricost-vcpkg-consumer)
endif()
file(COPY ${PLACE}/consumer/consumer DESTINATION ${away})
run(${away}/consumer)
file(REMOVE_RECURSE ${away})
message(STATUS "the port of ${version} installs; command and consumer run from where vcpkg puts them")
