# SPDX-License-Identifier: LGPL-3.0-or-later
# The package nfs-ganesha-ra. The module fits one version of the server only (its soname pins it, and a
# misfit takes the whole server down), so it depends on exactly the version that is installed here.
install(FILES copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

# libganesha_nfsd.so -> libganesha_nfsd.so.4.3
file(REAL_PATH ${Ganesha_LIBRARY} real)
string(REGEX MATCH "[0-9]+(\\.[0-9]+)*$" ganesha_version ${real})
find_program(DPKG_QUERY dpkg-query)
find_program(RPM_PROGRAM rpm)
mark_as_advanced(DPKG_QUERY RPM_PROGRAM)
set(deb_version "")
set(rpm_version "")
if(DPKG_QUERY)
  execute_process(COMMAND ${DPKG_QUERY} -W -f "\${Version}" nfs-ganesha
                  OUTPUT_VARIABLE deb_version ERROR_QUIET)
endif()
if(RPM_PROGRAM)
  execute_process(COMMAND ${RPM_PROGRAM} -q --qf "%{VERSION}-%{RELEASE}" nfs-ganesha
                  OUTPUT_VARIABLE rpm_version ERROR_QUIET RESULT_VARIABLE not_by_rpm)
  if(not_by_rpm)
    set(rpm_version ${ganesha_version})
  endif()
endif()

list(APPEND CPACK_COMPONENTS_ALL server)
set(server_summary "read-ahead, disk scheduling and congestion prices for NFS-Ganesha")
file(READ description CPACK_COMPONENT_SERVER_DESCRIPTION)

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME nfs-ganesha-ra)
set(CPACK_DEBIAN_SERVER_DESCRIPTION "${server_summary}\n${CPACK_COMPONENT_SERVER_DESCRIPTION}")
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS
    "nfs-ganesha (= ${deb_version}), nfs-ganesha-vfs (= ${deb_version})")
# The server's own library lies off the loader's path.
get_filename_component(private_dir ${Ganesha_LIBRARY} DIRECTORY)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${private_dir})

set(CPACK_RPM_MAIN_COMPONENT server)
set(CPACK_RPM_SERVER_PACKAGE_SUMMARY ${server_summary})
set(CPACK_RPM_SERVER_PACKAGE_REQUIRES
    "nfs-ganesha = ${rpm_version}, nfs-ganesha-vfs = ${rpm_version}")
