# Cross build for arm64 Linux with Debian's compiler and a sysroot of arm64 packages (images/sysroot makes it).
# The sysroot is named by -DPODCACHE_SYSROOT or the environment variable of that name. protoc and its gRPC plugin are
# the host's: of the same release, and they run here.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triplet aarch64-linux-gnu)

if(NOT PODCACHE_SYSROOT)
  set(PODCACHE_SYSROOT $ENV{PODCACHE_SYSROOT} CACHE PATH "Root folder of the arm64 packages")
endif()
if(NOT EXISTS ${PODCACHE_SYSROOT}/usr/include)
  message(FATAL_ERROR "PODCACHE_SYSROOT does not name a sysroot: '${PODCACHE_SYSROOT}' (make one: images/sysroot)")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PODCACHE_SYSROOT)

set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_SYSROOT ${PODCACHE_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
# Debian's cross linker looks for libraries in its own folders only, also with a sysroot.
string(CONCAT link_flags "-L${PODCACHE_SYSROOT}/usr/lib/${triplet} "
  "-Wl,-rpath-link,${PODCACHE_SYSROOT}/usr/lib/${triplet}:${PODCACHE_SYSROOT}/lib/${triplet}")
set(CMAKE_EXE_LINKER_FLAGS_INIT ${link_flags})
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${link_flags})

set(CMAKE_FIND_ROOT_PATH ${PODCACHE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PODCACHE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${PODCACHE_SYSROOT}/usr/lib/${triplet}/pkgconfig:${PODCACHE_SYSROOT}/usr/share/pkgconfig)
