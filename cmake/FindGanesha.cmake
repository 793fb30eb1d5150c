# SPDX-License-Identifier: LGPL-3.0-or-later
#[[
The installed NFS-Ganesha, and the headers of the same version.

No package carries a FSAL's headers: they are src/include of the upstream tarball, which scripts/setup
fetches into a cache. What the distribution does install is the core library, which says its version, and
the version of the ntirpc that it is linked with: headers of another one are refused, as a suite may ship
(Debian forky: the server of ntirpc 7.2, libntirpc-dev 15.2).

In:   GANESHA_SOURCE_DIR  an unpacked upstream tree (the directory with src/, or src itself); default:
                          the cache, $RA_CACHE; else $RA_CACHES, several with colons (debian/rules); else
                          $XDG_CACHE_HOME/nfs-ganesha-ra and /var/cache/nfs-ganesha-ra. A build directory
                          that configures again, as by cmake --build, knows which it was configured by
      NTIRPC_INCLUDE_DIR  ntirpc's headers (default: the cache's beside Ganesha's, or the installed)
Out:  Ganesha::fsal       includes, definitions (RA_GANESHA_VERSION among them), library
      Ganesha_VERSION  Ganesha_INCLUDE_DIR  Ganesha_LIBRARY  Ganesha_PLUGIN_DIR
      Ganesha_NTIRPC_INCLUDE_DIR
]]
include(GNUInstallDirs)

set(GANESHA_SOURCE_DIR "" CACHE PATH "Unpacked upstream sources of nfs-ganesha (default: the cache)")
set(NTIRPC_INCLUDE_DIR "" CACHE PATH "Headers of ntirpc, the directory with rpc/ (default: what fits the server)")

find_library(Ganesha_LIBRARY ganesha_nfsd
  PATHS /usr/lib/ganesha /usr/lib64/ganesha /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/ganesha
        /usr/lib64 /usr/lib
  DOC "The server's core library, libganesha_nfsd.so")
if(NOT Ganesha_LIBRARY)
  message(FATAL_ERROR
    "nfs-ganesha is not installed: there is no libganesha_nfsd.so in /usr/lib/ganesha or "
    "/usr/lib64/ganesha.\nRun scripts/setup --build as root, or configure with -DRA_PLUGIN=OFF to build the "
    "pure libraries only.")
endif()

# libganesha_nfsd.so -> libganesha_nfsd.so.4.3
file(REAL_PATH ${Ganesha_LIBRARY} Ganesha_real)
string(REGEX MATCH "\\.so\\.(([0-9]+)\\.([0-9]+)(\\.[0-9]+)*)$" _ ${Ganesha_real})
set(ra_version ${CMAKE_MATCH_1})
if(NOT ra_version)
  message(FATAL_ERROR "Cannot tell the version of nfs-ganesha from ${Ganesha_real}")
endif()
# Tests ask, too.
set(Ganesha_VERSION ${ra_version} CACHE INTERNAL "The installed server's")
# For the compiler: 4.3 -> 403, 15.2 -> 1502
math(EXPR Ganesha_version_number "100 * ${CMAKE_MATCH_2} + ${CMAKE_MATCH_3}")

if(NOT "$ENV{RA_CACHE}" STREQUAL "")
  set(ra_named "$ENV{RA_CACHE}")
  set(ra_caches ${ra_named})
elseif(NOT "$ENV{RA_CACHES}" STREQUAL "")
  file(TO_CMAKE_PATH "$ENV{RA_CACHES}" ra_named)
  set(ra_caches ${ra_named})
else()
  set(ra_named ${Ganesha_CACHES})
  if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    list(APPEND ra_named "$ENV{XDG_CACHE_HOME}/nfs-ganesha-ra")
    list(REMOVE_DUPLICATES ra_named)
  endif()
  # All of them: sudo hides XDG_CACHE_HOME from scripts/setup.
  set(ra_caches ${ra_named} /var/cache/nfs-ganesha-ra)
endif()
set(Ganesha_CACHES "${ra_named}" CACHE INTERNAL "Those that the environment has named")
list(TRANSFORM ra_caches APPEND /nfs-ganesha-${Ganesha_VERSION}/src/include OUTPUT_VARIABLE ra_includes)
list(TRANSFORM ra_caches APPEND /nfs-ganesha-${Ganesha_VERSION}/ntirpc OUTPUT_VARIABLE ra_ntirpcs)

# What an old build directory remembers may be of the server before an update, or of other sources: then it is
# looked for again, unless it has just been given.
set(ra_reason "${Ganesha_VERSION};${GANESHA_SOURCE_DIR};${Ganesha_CACHES}")
if("${Ganesha_INCLUDE_DIR}" STREQUAL "${Ganesha_INCLUDE_WAS}"
   AND (NOT ra_reason STREQUAL "${Ganesha_INCLUDE_REASON}" OR NOT EXISTS "${Ganesha_INCLUDE_DIR}/fsal_api.h"))
  unset(Ganesha_INCLUDE_DIR CACHE)
endif()
find_path(Ganesha_INCLUDE_DIR fsal_api.h NO_DEFAULT_PATH
  PATHS ${GANESHA_SOURCE_DIR}/src/include ${GANESHA_SOURCE_DIR}/include
        ${ra_includes}
        /usr/include/ganesha /usr/include/nfs-ganesha) # if ever a package has them
set(Ganesha_INCLUDE_WAS "${Ganesha_INCLUDE_DIR}" CACHE INTERNAL "Chosen, or given, when it last configured")
set(Ganesha_INCLUDE_REASON "${ra_reason}" CACHE INTERNAL "For which server, sources and caches")
if(NOT Ganesha_INCLUDE_DIR)
  list(JOIN ra_caches " or " ra_caches)
  message(FATAL_ERROR
    "The headers of nfs-ganesha ${Ganesha_VERSION} (the installed version) are neither in "
    "${ra_caches} nor given.\nRun scripts/setup --build to fetch them, or configure with "
    "-DGANESHA_SOURCE_DIR=<unpacked nfs-ganesha-${Ganesha_VERSION}>.")
endif()

if(EXISTS ${Ganesha_INCLUDE_DIR}/../../STAND-IN)
  message(WARNING "Headers to test with, made by scripts/stand-in-15, not those of ${Ganesha_VERSION}")
endif()

# The name of the library that the server is linked with is a string of its own in it.
file(STRINGS ${Ganesha_real} ra_ntirpc_needed REGEX "^libntirpc\\.so\\.[0-9.]+$" LIMIT_COUNT 1)
string(REPLACE "libntirpc.so." "" ra_ntirpc_needed "${ra_ntirpc_needed}")
set(ra_ntirpc_dir "")
set(ra_ntirpc_seen "")
foreach(dir ${NTIRPC_INCLUDE_DIR} ${ra_ntirpcs} /usr/include/ntirpc)
  if(EXISTS ${dir}/rpc/xdr.h AND EXISTS ${dir}/version.h AND NOT ra_ntirpc_dir)
    file(STRINGS ${dir}/version.h line REGEX "^#define NTIRPC_VERSION " LIMIT_COUNT 1)
    string(REGEX REPLACE ".*\"(.*)\"" "\\1" version "${line}")
    if(version STREQUAL ra_ntirpc_needed OR NOT ra_ntirpc_needed)
      set(ra_ntirpc_dir ${dir})
    endif()
    string(APPEND ra_ntirpc_seen "\n  ${dir}: ${version}")
  endif()
endforeach()
if(NOT ra_ntirpc_dir AND ra_ntirpc_seen)
  message(FATAL_ERROR
    "The headers of ntirpc are not of the version ${ra_ntirpc_needed} that nfs-ganesha "
    "${Ganesha_VERSION} is linked with:${ra_ntirpc_seen}\nRun scripts/setup --build to fetch those, or configure "
    "with -DNTIRPC_INCLUDE_DIR=<the directory with rpc/ of ntirpc ${ra_ntirpc_needed}>.")
endif()
if(NOT ra_ntirpc_dir)
  message(FATAL_ERROR
    "The headers of ntirpc (libntirpc-dev, libntirpc-devel) are missing. Run scripts/setup --build as root.")
endif()
set(Ganesha_NTIRPC_INCLUDE_DIR ${ra_ntirpc_dir} CACHE INTERNAL "ntirpc's headers that fit the server")
find_path(Ganesha_URCU_INCLUDE_DIR urcu-bp.h)
if(NOT Ganesha_URCU_INCLUDE_DIR)
  message(FATAL_ERROR
    "The headers of userspace-rcu (liburcu-dev, userspace-rcu-devel) are missing. "
    "Run scripts/setup --build as root.")
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
message(STATUS "nfs-ganesha ${Ganesha_VERSION}, ntirpc ${ra_ntirpc_needed}, plugins in ${Ganesha_PLUGIN_DIR}")

set(Ganesha_config_dir ${CMAKE_BINARY_DIR}/ganesha-config)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ganesha-config.h.in ${Ganesha_config_dir}/config.h COPYONLY)

if(NOT TARGET Ganesha::fsal)
  add_library(Ganesha::fsal INTERFACE IMPORTED)
  # SYSTEM: their warnings are not ours to mend. Our config.h comes first.
  target_include_directories(Ganesha::fsal SYSTEM INTERFACE
    ${Ganesha_config_dir} ${Ganesha_INCLUDE_DIR} ${Ganesha_INCLUDE_DIR}/os/linux
    ${Ganesha_NTIRPC_INCLUDE_DIR})
  target_compile_definitions(Ganesha::fsal INTERFACE
    _GNU_SOURCE _FILE_OFFSET_BITS=64 _LARGEFILE64_SOURCE HAS_DOFF
    RA_GANESHA_VERSION=${Ganesha_version_number})
  # Wherever the headers lie: debug symbols do not say it, two builds give the same bytes.
  target_compile_options(Ganesha::fsal INTERFACE
    -ffile-prefix-map=${Ganesha_INCLUDE_DIR}=nfs-ganesha-${Ganesha_VERSION}
    -ffile-prefix-map=${Ganesha_NTIRPC_INCLUDE_DIR}=ntirpc)
  target_link_libraries(Ganesha::fsal INTERFACE ${Ganesha_LIBRARY})
endif()
