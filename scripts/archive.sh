# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# The distribution's archive, out of apt's own configuration, so that no script names a host. To be sourced
# by scripts/setup and scripts/matrix; $work, where it is used, is a directory of the caller's.

# targets FORMAT: a line for each index of packages that apt is configured for. Before the first apt-get
# update, as in an image of a container, apt knows of none.
targets()
{
	[ -n "$(apt-get indextargets 'Created-By: Packages' 2>/dev/null)" ] || [ "$(id -u)" != 0 ] ||
		apt-get -q update >/dev/null 2>&1 || true
	apt-get indextargets --format "$1" 'Created-By: Packages' 2>/dev/null
}

# This system's suite. Unstable says that it is the next release: then it is the one that apt knows.
codename()
{
	local said

	said=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	targets '$(CODENAME)' | awk -v said="$said" '
		!/-/ && first == "" { first = $1 }
		$1 == said { found = 1 }
		END { print found || first == "" ? said : first }'
}

# "URI COMPONENT SOURCESENTRY" of each index of packages of this distribution's own suite
own_targets()
{
	targets '$(REPO_URI) $(CODENAME) $(RELEASE) $(COMPONENT) $(SOURCESENTRY)' |
		awk -v code="$1" '$3 == code || ($2 == code && $3 !~ /-/) { print $1, $4, $5 }'
}

# The keyring that the entry FILE:LINE names, in either of apt's two formats
keyring_of()
{
	local file=${1%:*} key=

	if [ -r "$file" ]; then
		key=$(sed -n -e 's/^Signed-By: *\(\/[^ ]*\).*/\1/p' \
			-e 's/.*signed-by=\([^] ]*\).*/\1/p' "$file" | head -n 1)
	fi
	if [ -z "$key" ] && [ -r /usr/share/keyrings/debian-archive-keyring.gpg ]; then
		key=/usr/share/keyrings/debian-archive-keyring.gpg
	fi
	echo "$key"
}

# An apt of its own for SUITE, in $work: private lists and cache, the system's stay as they are.
# TYPE is deb or deb-src.
private_apt()
{
	local type=$1 suite=$2 uri component entry key components

	read -r uri component entry < <(own_targets "$(codename)") ||
		{ echo "apt's configuration has no archive for $(codename)" >&2; return 1; }
	components=$(own_targets "$(codename)" | awk '{ print $2 }' | sort -u | tr '\n' ' ')
	key=$(keyring_of "$entry")
	mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
	: >"$work/status"
	printf '%s %s %s %s %s\n' "$type" "${key:+[signed-by=$key]}" "$uri" "$suite" "$components" \
		>"$work/sources.list"
	apt_options="-q -o Dir::Etc::sourcelist=$work/sources.list -o Dir::Etc::sourceparts=-
		-o Dir::State::lists=$work/lists -o Dir::State::status=$work/status -o Dir::Cache=$work/cache
		-o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=30"
	# In English, for what is looked for below
	# shellcheck disable=SC2086
	LC_ALL=C apt-get $apt_options -o APT::Get::List-Cleanup=false update >"$work/log" 2>&1 ||
		{ tail -n 3 "$work/log" >&2; return 1; }
	! grep -q '^[WE]:.*Failed to fetch' "$work/log"
}
