# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Functions of scripts/check and scripts/install-deps that read scripts/steps. The caller is in the repository's folder.

# Prints the lines of the table.
all_steps()
{
	grep -v '^#' scripts/steps
}

# Prints the names of the steps that an option runs; '-': scripts/check alone.
steps_of()
{
	local name options

	while read -r name options _; do
		case ,$options, in
		*",$1,"*) printf '%s\n' "$name" ;;
		esac
	done < <(all_steps)
}

# Prints what a step needs, in one line. Fails if there is no such step.
needs_of()
{
	local name needs

	while read -r name _ needs _; do
		if [ "$name" = "$1" ]; then
			printf '%s\n' "${needs//,/ }"
			return 0
		fi
	done < <(all_steps)
	return 1
}
