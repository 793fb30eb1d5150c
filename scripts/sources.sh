# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# The project's sources, without what builds and tests leave beside them. To be sourced by scripts/package and
# scripts/matrix, in the top directory.

# copy_sources TO: into the directory TO, which is there: of a checkout what git knows or would, else all
copy_sources()
{
	if [ -e .git ]; then
		git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard |
			while IFS= read -r -d '' file; do
				# One that was removed is still in git's index.
				[ ! -e "$file" ] && [ ! -L "$file" ] || printf '%s\0' "$file"
			done | tar -c --null --no-recursion -T - | tar -x -C "$1"
	else
		# As .gitignore
		tar -c --exclude='./build*' --exclude=./packages --exclude=./BUILD --exclude=__pycache__ --exclude='*.pyc' . |
			tar -x -C "$1"
	fi
}
