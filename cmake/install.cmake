# Owns what an installation holds beside the targets: the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/scaly)
install(EXPORT scaly NAMESPACE scaly:: DESTINATION ${package_dir} FILE scaly-targets.cmake)
configure_package_config_file(cmake/scaly-config.cmake.in scaly-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(scaly-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/scaly-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/scaly-config-version.cmake
  cmake/scaly-module.cmake cmake/scaly-flags.cmake
  DESTINATION ${package_dir})

# Relative to the file itself, so that a moved or staged tree works.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
set(pc_cache_libraries "") # what the static library needs beside the shared one's own
foreach(name IN LISTS cache_names)
  string(APPEND pc_cache_libraries "-l${name} ")
endforeach()
configure_file(cmake/scaly.pc.in scaly.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/scaly.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
