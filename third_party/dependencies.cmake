# Finds what cudadiag stands on; third_party/README.md says why each is here. Nothing is copied in or downloaded.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(fmt 8.1 REQUIRED)
find_package(ZLIB REQUIRED)

# Distributions ship no static libfmt, and each ships another libfmt.so.
if(CUDADIAG_STATIC)
  add_library(cudadiag_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
  set_target_properties(cudadiag_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(cudadiag_fmt SYSTEM PUBLIC
    $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
else()
  add_library(cudadiag_fmt INTERFACE)
  target_link_libraries(cudadiag_fmt INTERFACE fmt::fmt)
endif()

if(CUDADIAG_STATIC)
  set(Boost_USE_STATIC_LIBS ON)
endif()
# For Boost.Process. CMake 3.30 dropped its own search for Boost (CMP0167).
find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS filesystem)

# elfutils: static where asked for; then it brings its own compression libraries along.
find_path(LIBDW_INCLUDE_DIR elfutils/libdw.h REQUIRED)
add_library(cudadiag_libdw INTERFACE)
target_include_directories(cudadiag_libdw SYSTEM INTERFACE ${LIBDW_INCLUDE_DIR})
if(CUDADIAG_STATIC)
  foreach(name dw elf lzma bz2 zstd z)
    find_library(STATIC_${name} lib${name}.a REQUIRED)
    target_link_libraries(cudadiag_libdw INTERFACE ${STATIC_${name}})
  endforeach()
  target_link_libraries(cudadiag_libdw INTERFACE ${CMAKE_DL_LIBS})
else()
  pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw libelf)
  target_link_libraries(cudadiag_libdw INTERFACE PkgConfig::LIBDW)
endif()

# libiberty: there is no shared one.
find_path(IBERTY_INCLUDE_DIR libiberty/demangle.h REQUIRED)
find_library(STATIC_iberty libiberty.a REQUIRED)
add_library(cudadiag_iberty INTERFACE)
target_include_directories(cudadiag_iberty SYSTEM INTERFACE ${IBERTY_INCLUDE_DIR})
target_link_libraries(cudadiag_iberty INTERFACE ${STATIC_iberty})

# CUDA: headers only. libcuda and libcupti are opened at run time.
find_path(CUDA_INCLUDE_DIR cuda.h
  HINTS ${CUDADIAG_CUDA_INCLUDE} $ENV{CUDA_HOME}/include /usr/local/cuda/include REQUIRED)
find_path(CUPTI_INCLUDE_DIR cupti.h
  HINTS ${CUDADIAG_CUDA_INCLUDE} ${CUDA_INCLUDE_DIR} $ENV{CUDA_HOME}/extras/CUPTI/include
        /usr/local/cuda/extras/CUPTI/include REQUIRED)
add_library(cudadiag_cuda_headers INTERFACE)
target_include_directories(cudadiag_cuda_headers SYSTEM INTERFACE ${CUDA_INCLUDE_DIR} ${CUPTI_INCLUDE_DIR})

if(CUDADIAG_TESTS)
  find_package(doctest REQUIRED)
  include(doctest)
  find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp)
  if(NOT VALIJSON_INCLUDE_DIR)
    message(STATUS "no valijson: the tests that hold the JSON report against its schema are left out")
  endif()
endif()
if(CUDADIAG_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
