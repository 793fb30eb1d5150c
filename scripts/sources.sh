# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# The project's sources, without what builds and tests leave beside them. To be sourced by scripts/package and
# scripts/matrix, in the top directory.

# git_here ARGUMENT...: git, of the checkout that this is
git_here()
{
	[ -e .git ] && git -c safe.directory="$PWD" "$@"
}

# copy_sources TO: into the directory TO, which is there: of a checkout what git knows or would, else all, as where git
# is not installed, or has its repository elsewhere (a worktree in a container). Status 1 is tar's word that files
# changed while it read them: they are there.
copy_sources()
(
	set -o pipefail
	if git_here ls-files --error-unmatch scripts/sources.sh >/dev/null 2>&1; then
		git_here ls-files -z --cached --others --exclude-standard |
			while IFS= read -r -d '' file; do
				# One that was removed is still in git's index.
				[ ! -e "$file" ] && [ ! -L "$file" ] || printf '%s\0' "$file"
			done | { tar -c --null --no-recursion -T - || [ $? = 1 ]; } | tar -x -C "$1"
	else
		# As .gitignore
		{ tar -c --exclude=./.git --exclude='./build*' --exclude=./packages --exclude=./BUILD --exclude=__pycache__ \
			--exclude='*.pyc' . || [ $? = 1 ]; } | tar -x -C "$1"
	fi
)
