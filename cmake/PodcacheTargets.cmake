# Target helpers: every library, binary and test of the project is declared through these, so that warnings, sanitizers
# and header checks are the same everywhere.

add_library(podcache_options INTERFACE)
target_include_directories(podcache_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(podcache_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough -Wformat=2
  -fno-omit-frame-pointer)
if(PODCACHE_WERROR)
  target_compile_options(podcache_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(podcache_options INTERFACE -Wthread-safety)
endif()
if(PODCACHE_LIBRARY_ASSERTIONS)
  target_compile_definitions(podcache_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(PODCACHE_TEST_HOOKS)
  target_compile_definitions(podcache_options INTERFACE PODCACHE_TEST_HOOKS=1)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT PODCACHE_SANITIZE)
  target_compile_options(podcache_options INTERFACE -fstack-protector-strong)
  target_compile_definitions(podcache_options INTERFACE _FORTIFY_SOURCE=2)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  target_link_options(podcache_options INTERFACE -pie -Wl,-z,relro,-z,now)
endif()
if(PODCACHE_SANITIZE)
  target_compile_options(podcache_options INTERFACE -fsanitize=${PODCACHE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(podcache_options INTERFACE -fsanitize=${PODCACHE_SANITIZE})
endif()

# For folders on the way of a request: a call between two of them costs no more than one within.
macro(podcache_link_time_optimization)
  if(PODCACHE_LTO)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  endif()
endmacro()

# For folders where speed does not matter and templates are large (JSON): with sanitizers, optimizing would double the time
# to compile.
macro(podcache_compile_fast_with_sanitizers)
  if(PODCACHE_SANITIZE)
    add_compile_options(-O0)
  endif()
endmacro()

# podcache_cc_library(NAME x HDRS a.h SRCS a.cc DEPS y z)
# A library without SRCS is header-only.
function(podcache_cc_library)
  cmake_parse_arguments(ARG "" "NAME" "HDRS;SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(${ARG_NAME} STATIC)
    target_sources(${ARG_NAME} PRIVATE ${ARG_SRCS})
    target_link_libraries(${ARG_NAME} PUBLIC podcache_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
    set(scope PUBLIC)
  else()
    add_library(${ARG_NAME} INTERFACE)
    target_link_libraries(${ARG_NAME} INTERFACE podcache_options ${ARG_DEPS})
    set(scope INTERFACE)
  endif()
  target_sources(${ARG_NAME} ${scope}
    FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${ARG_HDRS})
  set_target_properties(${ARG_NAME} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

# podcache_cc_binary(NAME x SRCS main.cc DEPS y)
function(podcache_cc_binary)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE podcache_options ${ARG_DEPS})
endfunction()

# podcache_cc_test(NAME x_test SRCS x_test.cc DEPS x LABELS unit tsan [TIMEOUT seconds])
# Labels: unit, integration, kube, fuzz-replay, bench; add tsan where ThreadSanitizer is meaningful.
function(podcache_cc_test)
  cmake_parse_arguments(ARG "NO_MAIN" "NAME;TIMEOUT" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE podcache_options ${ARG_DEPS} GTest::gmock GTest::gtest)
  if(NOT ARG_NO_MAIN)
    target_link_libraries(${ARG_NAME} PRIVATE GTest::gtest_main)
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if("kube" IN_LIST ARG_LABELS)
    podcache_needs_apiserver(${ARG_NAME})
  endif()
endfunction()

# podcache_needs_apiserver(TEST...)
# The tests run one at a time beside a real kube-apiserver (tests/cluster/apiserver), which ctest starts before the first
# and stops after the last. PODCACHE_KUBECONFIG names the administrator's kubeconfig; the same path with the suffix
# -operator has only the operator's rights, with -cert authenticates by client certificate.
function(podcache_needs_apiserver)
  set(state ${CMAKE_BINARY_DIR}/apiserver)
  get_property(declared GLOBAL PROPERTY podcache_apiserver_fixture)
  if(NOT declared)
    set_property(GLOBAL PROPERTY podcache_apiserver_fixture ON)
    add_test(NAME apiserver_up COMMAND ${CMAKE_SOURCE_DIR}/tests/cluster/apiserver up ${state})
    add_test(NAME apiserver_down COMMAND ${CMAKE_SOURCE_DIR}/tests/cluster/apiserver down ${state})
    set_tests_properties(apiserver_up PROPERTIES FIXTURES_SETUP apiserver TIMEOUT 1800 LABELS kube)
    set_tests_properties(apiserver_down PROPERTIES FIXTURES_CLEANUP apiserver LABELS kube)
  endif()
  set_tests_properties(${ARGN} PROPERTIES FIXTURES_REQUIRED apiserver RESOURCE_LOCK apiserver
    ENVIRONMENT "PODCACHE_KUBECONFIG=${state}/kubeconfig")
endfunction()
