# Finds the libraries that cudadiag needs; third_party/README.md says why. Copies and downloads nothing.
include(CheckCXXSourceCompiles)

find_package(Threads REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(fmt 8.1 REQUIRED)
find_package(ZLIB REQUIRED)

# Distributions ship no static libfmt, and each ships a different libfmt.so.
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

find_library(STATIC_z libz.a)

# elfutils: linked statically if requested and possible. Its archives then need those of the compression libraries.
find_path(LIBDW_INCLUDE_DIR elfutils/libdw.h REQUIRED)
add_library(cudadiag_libdw INTERFACE)
target_include_directories(cudadiag_libdw SYSTEM INTERFACE ${LIBDW_INCLUDE_DIR})
set(static_libdw "")
foreach(name dw elf lzma bz2 zstd)
  find_library(STATIC_${name} lib${name}.a)
  list(APPEND static_libdw ${STATIC_${name}})
endforeach()
list(APPEND static_libdw ${STATIC_z} ${CMAKE_DL_LIBS})
if(CUDADIAG_STATIC AND NOT static_libdw MATCHES NOTFOUND)
  # Debian's archives of 0.192 lack eu_tsearch and related functions, which both libraries call. Those of 0.188 and
  # 0.196 are complete.
  set(CMAKE_REQUIRED_INCLUDES ${LIBDW_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${static_libdw})
  check_cxx_source_compiles([[
    #include <elfutils/libdwfl.h>
    int main() {
      Dwarf_Addr bias = 0;
      Dwfl_Callbacks callbacks = {};
      Dwarf* dwarf = dwfl_module_getdwarf(dwfl_report_elf(dwfl_begin(&callbacks), "", "", -1, 0, true), &bias);
      Dwarf_Die unit = {};
      return dwarf_getsrc_die(dwarf_offdie(dwarf, 0, &unit), bias) != nullptr;
    }]] CUDADIAG_STATIC_LIBDW_LINKS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(CUDADIAG_STATIC AND CUDADIAG_STATIC_LIBDW_LINKS)
  target_link_libraries(cudadiag_libdw INTERFACE ${static_libdw})
else()
  if(CUDADIAG_STATIC)
    message(STATUS "elfutils cannot be linked statically here: the program will need libdw.so.1 at run time")
  endif()
  find_library(SHARED_dw dw REQUIRED)
  find_library(SHARED_elf elf REQUIRED)
  target_link_libraries(cudadiag_libdw INTERFACE ${SHARED_dw} ${SHARED_elf})
endif()

# zlib: linked statically if requested.
add_library(cudadiag_zlib INTERFACE)
if(CUDADIAG_STATIC AND STATIC_z)
  target_include_directories(cudadiag_zlib SYSTEM INTERFACE ${ZLIB_INCLUDE_DIRS})
  target_link_libraries(cudadiag_zlib INTERFACE ${STATIC_z})
else()
  target_link_libraries(cudadiag_zlib INTERFACE ZLIB::ZLIB)
endif()

# libiberty exists only as a static library.
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
endif()
if(CUDADIAG_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
