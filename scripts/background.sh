# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# One program in the background, and its end when the script is interrupted. To be sourced by scripts/demo and
# scripts/test.
#
#    script -- wait            ^C, SIGTERM or SIGHUP reach the script only, and at once. It asks all in the
#      |                       program's session to end, who then undo what they did: servers, mounts, loop
#      '- program              devices, settings. What has not ended after END_SECONDS is killed, and with it
#           |                  all that is in its namespace.
#           '- server, mechdisk, ... in sessions of their own: the program ends them
#
# One that installs packages must not be broken so: apt-get shields dpkg from ^C, but not from SIGTERM, and a dpkg that was
# broken off refuses everything afterwards. Of such a program only itself is asked to end, which it does when apt-get has
# ended, however long that takes.
#
# The script sets a trap on EXIT that calls end_background first.

END_SECONDS=25
background=
unbroken= # what it is called, if only itself is asked to end
# A namespace of processes, so that nothing outlives the program; empty where there are none
apart=
if unshare -m -p --fork --kill-child --mount-proc true 2>/dev/null; then
	apart="unshare -m -p --fork --kill-child --mount-proc"
fi
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# in_background COMMAND...: its exit status
in_background()
{
	local status=0

	setsid "$@" &
	background=$!
	wait "$background" || status=$?
	background=
	return $status
}

# in_background_unbroken COMMAND...: the same, of one whose children must come to their end
in_background_unbroken()
{
	local status=0

	unbroken="$*"
	in_background "$@" || status=$?
	unbroken=
	return $status
}

end_background()
{
	local tries=$((END_SECONDS * 10))

	trap '' INT TERM HUP # the impatient get all of it, too
	[ -n "$background" ] || return 0
	[ -z "$unbroken" ] || { wait_unbroken; return 0; }
	signal_session TERM
	while kill -0 "$background" 2>/dev/null && [ $((tries -= 1)) != 0 ]; do
		sleep 0.1
	done
	signal_session KILL
}

wait_unbroken()
{
	echo "${0##*/}: waiting for $unbroken to end: packages that are being installed must not be broken off" >&2 || true
	kill -TERM "$background" 2>/dev/null || true
	while kill -0 "$background" 2>/dev/null; do
		sleep 0.1
	done
}

# signal_session NAME: to all in the program's session
signal_session()
{
	local members

	members=$(in_session "$background")
	# shellcheck disable=SC2086
	[ -z "$members" ] || kill "-$1" $members 2>/dev/null || true
}

# wait_for_session SECONDS: until nobody but us is left in our session, as children of children that have ended
# are
wait_for_session()
{
	local tries=$(($1 * 10)) line fields others

	read -r line </proc/$$/stat
	read -r -a fields <<<"${line##*) }"
	while [ $((tries -= 1)) != 0 ]; do
		others=$(in_session "${fields[3]}")
		[ -n "$others" ] || return 0
		sleep 0.1
	done
}

# in_session NUMBER: the processes in that session, but for who asks, and zombies. In a namespace of processes
# the number of a session from outside is 0.
in_session()
{
	local line fields stat

	for stat in /proc/[0-9]*/stat; do
		{ read -r line <"$stat"; } 2>/dev/null || continue
		read -r -a fields <<<"${line##*) }"
		[ "${fields[3]}" = "$1" ] && [ "${fields[0]}" != Z ] || continue
		case ${line%% *} in $$ | "$BASHPID") ;; *) echo "${line%% *}" ;; esac
	done
}

# detach_loops DIR: those of files below it, which a program left that was killed. Loop devices are the one thing that
# has no namespace. Detaching one in use does no harm: it then goes with its last user.
detach_loops()
{
	local loop

	scripts/loops-of "$1" 2>/dev/null | while read -r loop; do
		echo "${0##*/}: detaching $loop, which was left" >&2 || true
		losetup -d "$loop" || true
	done
}
