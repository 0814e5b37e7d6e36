# What `cmake --install` copies: program, libraries, headers, manual pages, completion, pkg-config
# files and the CMake package. Manual pages and completion are printed by the program itself.
include(CMakePackageConfigHelpers)

target_link_libraries(mindprof PRIVATE m) # rounding in readers and writers

install(TARGETS mindprof mindprof-record EXPORT mindprof-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/mindprof DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

if(TARGET mindprof-cli)
  # Where `mindprof record` looks for the library, seen from bin/.
  target_compile_definitions(mindprof-cli PRIVATE MINDPROF_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS mindprof-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

  set(help_dir ${CMAKE_BINARY_DIR}/help)
  set(help_files ${help_dir}/mindprof.1 ${help_dir}/mindprof.bash)
  set(help_commands COMMAND mindprof-cli help --man > ${help_dir}/mindprof.1
    COMMAND mindprof-cli help --completion bash > ${help_dir}/mindprof.bash)
  file(GLOB command_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cli/cmd_*.c)
  foreach(source IN LISTS command_sources)
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE "cmd_" "" name ${name})
    list(APPEND help_files ${help_dir}/mindprof-${name}.1)
    list(APPEND help_commands COMMAND mindprof-cli help --man ${name} > ${help_dir}/mindprof-${name}.1)
  endforeach()
  file(MAKE_DIRECTORY ${help_dir})
  add_custom_command(OUTPUT ${help_files} ${help_commands} DEPENDS mindprof-cli VERBATIM
    COMMENT "Manual pages and completion")
  add_custom_target(mindprof-help ALL DEPENDS ${help_files})

  set(man_files ${help_files})
  list(FILTER man_files INCLUDE REGEX "\\.1$")
  install(FILES ${man_files} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${help_dir}/mindprof.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME mindprof)
endif()

# The prefix is found from the place of the .pc file, so an installation may be moved.
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(lib mindprof mindprof-record)
  set(PC_NAME ${lib})
  if(lib STREQUAL mindprof)
    set(PC_DESCRIPTION "reading and analysing performance recordings of deep-learning training")
  else()
    set(PC_DESCRIPTION "recording ranges, operators, memory and queues of a running program")
  endif()
  configure_file(${CMAKE_SOURCE_DIR}/cmake/mindprof.pc.in ${CMAKE_BINARY_DIR}/${lib}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${lib}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mindprof)
install(EXPORT mindprof-targets NAMESPACE mindprof:: DESTINATION ${package_dir})
file(WRITE ${CMAKE_BINARY_DIR}/mindprof-config.cmake
  "# find_package(mindprof) gives mindprof::mindprof and mindprof::mindprof-record.\n"
  "include(\${CMAKE_CURRENT_LIST_DIR}/mindprof-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/mindprof-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/mindprof-config.cmake ${CMAKE_BINARY_DIR}/mindprof-config-version.cmake
  DESTINATION ${package_dir})
