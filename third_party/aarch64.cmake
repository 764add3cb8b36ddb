# For 64-bit Arm on another processor: Debian's cross compiler, the libraries that third_party/sysroot unpacked into
# CUDADIAG_SYSROOT, and an emulator for programs that the build and the tests run.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CUDADIAG_SYSROOT)
set(CUDADIAG_SYSROOT "" CACHE PATH "Folder of headers and libraries for 64-bit Arm")
set(CMAKE_SYSROOT ${CUDADIAG_SYSROOT})
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/emulate ${CUDADIAG_SYSROOT})
