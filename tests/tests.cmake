# Tests, named <folder>/<name> and labelled with their folder:
#   unit/, torture/  C programs tests/{unit,torture}/test_<subject>.c, cmocka, linked with the room archives
#   fuzz/            replays fuzz/corpus/<reader>/ through fuzz/fuzz_<reader>.c
#   others           executable scripts tests/*/*_test.{sh,py}; argument: the build folder; exit 77 = skipped
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

# Expected values are written as plain numbers. (A library of its own, so that it comes after mp_flags.)
add_library(mp_test_flags INTERFACE)
target_compile_options(mp_test_flags INTERFACE -Wno-conversion)

# Code that several threads use at once: these tests also run under the thread sanitizer (target thread_tests).
set(THREAD_TESTS "^test_(rec|api_record|pool|strtab|st_)")
add_custom_target(thread_tests)

file(GLOB c_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/test_*.c ${CMAKE_SOURCE_DIR}/tests/torture/test_*.c)
foreach(source IN LISTS c_tests)
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  add_executable(${name} ${source})
  target_compile_definitions(${name} PRIVATE MP_SOURCE_DIR="${CMAKE_SOURCE_DIR}" MP_BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE mp_flags mp_test_flags PkgConfig::CMOCKA ${ROOM_LIBS} Threads::Threads m)
  add_test(NAME ${folder}/${name} COMMAND ${name})
  set_tests_properties(${folder}/${name} PROPERTIES LABELS ${folder})
  if(name MATCHES "${THREAD_TESTS}")
    add_dependencies(thread_tests ${name})
    set_tests_properties(${folder}/${name} PROPERTIES LABELS "${folder};threads")
  endif()
endforeach()

set(REPLAY_ALSO_json_in ${CMAKE_SOURCE_DIR}/tests/data/json/ok ${CMAKE_SOURCE_DIR}/tests/data/json/fail)
file(GLOB fuzz_targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/fuzz_*.c)
foreach(source IN LISTS fuzz_targets)
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "fuzz_" "" reader ${name})
  add_executable(replay_${reader} ${source} fuzz/harness.c fuzz/replay.c)
  target_include_directories(replay_${reader} PRIVATE ${CMAKE_SOURCE_DIR}/fuzz)
  target_link_libraries(replay_${reader} PRIVATE mp_flags ${ROOM_LIBS} Threads::Threads m)
  add_test(NAME fuzz/${reader} COMMAND replay_${reader} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${reader} ${REPLAY_ALSO_${reader}})
  set_tests_properties(fuzz/${reader} PROPERTIES LABELS fuzz)
  if(MINDPROF_FUZZ)
    add_executable(${name} ${source} fuzz/harness.c)
    target_link_libraries(${name} PRIVATE mp_flags ${ROOM_LIBS} Threads::Threads m)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endif()
endforeach()

file(GLOB script_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*/*_test.sh ${CMAKE_SOURCE_DIR}/tests/*/*_test.py)
foreach(script IN LISTS script_tests)
  get_filename_component(name ${script} NAME_WE)
  get_filename_component(folder ${script} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  add_test(NAME ${folder}/${name} COMMAND ${script} ${CMAKE_BINARY_DIR})
  set_tests_properties(${folder}/${name} PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} LABELS ${folder}
    SKIP_RETURN_CODE 77)
endforeach()
