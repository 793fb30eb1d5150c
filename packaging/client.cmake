# SPDX-License-Identifier: LGPL-3.0-or-later
# The package ca-nfs-agent. For machines without a server, so it depends on none.
list(APPEND CPACK_COMPONENTS_ALL client)
set(client_summary "lets NFS clients obey the congestion prices of their servers")
file(READ description-client CPACK_COMPONENT_CLIENT_DESCRIPTION)

set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME ca-nfs-agent)
set(CPACK_DEBIAN_CLIENT_DESCRIPTION "${client_summary}\n${CPACK_COMPONENT_CLIENT_DESCRIPTION}")
set(CPACK_RPM_CLIENT_PACKAGE_NAME ca-nfs-agent)
set(CPACK_RPM_CLIENT_PACKAGE_SUMMARY ${client_summary})

# Removal ends the agent and puts its knobs back; the same scripts serve both kinds of packages.
set(client_scripts ${CMAKE_CURRENT_SOURCE_DIR}/client)
set(CPACK_DEBIAN_CLIENT_PACKAGE_CONTROL_EXTRA
    "${client_scripts}/postinst;${client_scripts}/prerm;${client_scripts}/postrm")
set(CPACK_DEBIAN_CLIENT_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_RPM_CLIENT_POST_INSTALL_SCRIPT_FILE ${client_scripts}/postinst)
set(CPACK_RPM_CLIENT_PRE_UNINSTALL_SCRIPT_FILE ${client_scripts}/prerm)
set(CPACK_RPM_CLIENT_POST_UNINSTALL_SCRIPT_FILE ${client_scripts}/postrm)
