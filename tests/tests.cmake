# Unit tests: tests/unit/test_<file>.c, one per module, cmocka, linked with the room archives.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

set(ROOM_LIBS mp_checks mp_writers mp_analyses mp_readers mp_store mp_record mp_formats mp_base)
file(GLOB unit_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/test_*.c ${CMAKE_SOURCE_DIR}/tests/torture/test_*.c)
foreach(source IN LISTS unit_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_compile_definitions(${name} PRIVATE MP_SOURCE_DIR="${CMAKE_SOURCE_DIR}" MP_BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_options(${name} PRIVATE -Wno-conversion)
  target_link_libraries(${name} PRIVATE mp_flags PkgConfig::CMOCKA ${ROOM_LIBS} ${ROOM_LIBS} Threads::Threads m)
  add_test(NAME unit/${name} COMMAND ${name})
endforeach()

# Script tests: every executable tests/*/*.sh or .py that ends in _test is run with the build folder as argument.
file(GLOB script_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*/*_test.sh ${CMAKE_SOURCE_DIR}/tests/*/*_test.py)
foreach(script IN LISTS script_tests)
  get_filename_component(name ${script} NAME_WE)
  get_filename_component(folder ${script} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  add_test(NAME ${folder}/${name} COMMAND ${script} ${CMAKE_BINARY_DIR})
  set_tests_properties(${folder}/${name} PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endforeach()
