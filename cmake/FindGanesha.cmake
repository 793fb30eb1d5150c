# SPDX-License-Identifier: LGPL-3.0-or-later
#[[
The installed NFS-Ganesha, and the headers of the same version.

No package carries a FSAL's headers: they are src/include of the upstream tarball, which scripts/setup
fetches into a cache. What the distribution does install is the core library, which says its version.

In:   GANESHA_SOURCE_DIR  an unpacked upstream tree (the directory with src/, or src itself); default:
                          the cache, $RA_CACHE or $XDG_CACHE_HOME/nfs-ganesha-ra or
                          /var/cache/nfs-ganesha-ra
      GANESHA_VERSION     build for this version's headers without a library (default: the installed)
Out:  Ganesha::fsal       includes, definitions, library
      Ganesha_VERSION  Ganesha_INCLUDE_DIR  Ganesha_LIBRARY  Ganesha_PLUGIN_DIR
]]
include(GNUInstallDirs)

set(GANESHA_SOURCE_DIR "" CACHE PATH "Unpacked upstream sources of nfs-ganesha (default: the cache)")

find_library(Ganesha_LIBRARY ganesha_nfsd
  PATHS /usr/lib/ganesha /usr/lib64/ganesha /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/ganesha
        /usr/lib64 /usr/lib
  DOC "The server's core library, libganesha_nfsd.so")
if(NOT Ganesha_LIBRARY)
  message(FATAL_ERROR
    "nfs-ganesha is not installed: there is no libganesha_nfsd.so in /usr/lib/ganesha or "
    "/usr/lib64/ganesha.\nRun scripts/setup as root, or configure with -DRA_PLUGIN=OFF to build the "
    "pure libraries only.")
endif()

# libganesha_nfsd.so -> libganesha_nfsd.so.4.3
file(REAL_PATH ${Ganesha_LIBRARY} Ganesha_real)
string(REGEX MATCH "\\.so\\.([0-9]+(\\.[0-9]+)*)$" _ ${Ganesha_real})
set(Ganesha_VERSION ${CMAKE_MATCH_1})
if(NOT Ganesha_VERSION)
  message(FATAL_ERROR "Cannot tell the version of nfs-ganesha from ${Ganesha_real}")
endif()

if(DEFINED ENV{RA_CACHE})
  set(ra_cache $ENV{RA_CACHE})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(ra_cache $ENV{XDG_CACHE_HOME}/nfs-ganesha-ra)
else()
  set(ra_cache /var/cache/nfs-ganesha-ra)
endif()

find_path(Ganesha_INCLUDE_DIR fsal_api.h NO_DEFAULT_PATH
  PATHS ${GANESHA_SOURCE_DIR}/src/include ${GANESHA_SOURCE_DIR}/include
        ${ra_cache}/nfs-ganesha-${Ganesha_VERSION}/src/include)
if(NOT Ganesha_INCLUDE_DIR)
  message(FATAL_ERROR
    "The headers of nfs-ganesha ${Ganesha_VERSION} (the installed version) are neither in "
    "${ra_cache} nor given.\nRun scripts/setup to fetch them, or configure with "
    "-DGANESHA_SOURCE_DIR=<unpacked nfs-ganesha-${Ganesha_VERSION}>.")
endif()

find_path(Ganesha_NTIRPC_INCLUDE_DIR rpc/xdr.h PATHS /usr/include/ntirpc NO_DEFAULT_PATH)
if(NOT Ganesha_NTIRPC_INCLUDE_DIR)
  message(FATAL_ERROR
    "The headers of ntirpc (libntirpc-dev, libntirpc-devel) are missing. Run scripts/setup as root.")
endif()
find_path(Ganesha_URCU_INCLUDE_DIR urcu-bp.h)
if(NOT Ganesha_URCU_INCLUDE_DIR)
  message(FATAL_ERROR
    "The headers of userspace-rcu (liburcu-dev, userspace-rcu-devel) are missing. "
    "Run scripts/setup as root.")
endif()

# Debian: /usr/lib/<triplet>/ganesha; Fedora: /usr/lib64/ganesha. Where its VFS is, ours goes.
find_path(Ganesha_PLUGIN_DIR libfsalvfs.so NO_DEFAULT_PATH
  PATHS ${CMAKE_INSTALL_FULL_LIBDIR}/ganesha /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/ganesha
        /usr/lib64/ganesha /usr/lib/ganesha)
if(NOT Ganesha_PLUGIN_DIR)
  set(Ganesha_PLUGIN_DIR ${CMAKE_INSTALL_FULL_LIBDIR}/ganesha)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Ganesha
  REQUIRED_VARS Ganesha_LIBRARY Ganesha_INCLUDE_DIR Ganesha_NTIRPC_INCLUDE_DIR
  VERSION_VAR Ganesha_VERSION)
message(STATUS "nfs-ganesha ${Ganesha_VERSION}, plugins in ${Ganesha_PLUGIN_DIR}")

set(Ganesha_config_dir ${CMAKE_BINARY_DIR}/ganesha-config)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ganesha-config.h.in ${Ganesha_config_dir}/config.h COPYONLY)

if(NOT TARGET Ganesha::fsal)
  add_library(Ganesha::fsal INTERFACE IMPORTED)
  # SYSTEM: their warnings are not ours to mend. Our config.h comes first.
  target_include_directories(Ganesha::fsal SYSTEM INTERFACE
    ${Ganesha_config_dir} ${Ganesha_INCLUDE_DIR} ${Ganesha_INCLUDE_DIR}/os/linux
    ${Ganesha_NTIRPC_INCLUDE_DIR})
  target_compile_definitions(Ganesha::fsal INTERFACE
    _GNU_SOURCE _FILE_OFFSET_BITS=64 _LARGEFILE64_SOURCE HAS_DOFF)
  target_link_libraries(Ganesha::fsal INTERFACE ${Ganesha_LIBRARY})
endif()
