# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Functions of scripts/install-deps and scripts/demo that print the progress of apt-get and ninja.

progress_last=

# progress_show LABEL PERCENT: on a terminal it overwrites the line, otherwise it prints a line for
# each 20 % that is reached.
progress_show()
{
	if [ -t 1 ]; then
		printf '\r%s: %3d %%' "$1" "$2"
		if [ "$2" -ge 100 ] && [ "$progress_last" != "$1" ]; then
			printf '\n'
			progress_last=$1
		fi
	elif [ "$progress_last" != "$1 $(($2 / 20))" ]; then
		printf '%s: %d %%\n' "$1" "$2"
		progress_last="$1 $(($2 / 20))"
	fi
}

# progress_of_apt LOG: reads the output of apt-get with APT::Status-Fd=1, which has its messages and
# lines such as 'dlstatus:3:12.5:Retrieving file 3 of 20'. Prints the sizes and the progress. The log
# gets all other lines.
progress_of_apt()
{
	local line percent

	while IFS= read -r line; do
		percent=${line#*:*:}
		percent=${percent%%.*}
		case $line in
		dlstatus:*:*.*:*) progress_show '  downloading' "$percent" ;;
		pmstatus:*:*.*:*) progress_show '  installing' "$percent" ;;
		'Need to get '* | 'After this operation'*) printf '  %s\n' "$line" ;;
		*) printf '%s\n' "$line" >>"$1" ;;
		esac
	done
}

# progress_of_ninja LOG: reads the output of ninja and prints the progress. The log gets all lines.
progress_of_ninja()
{
	local line

	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$1"
		if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
			progress_show '  building' $((100 * BASH_REMATCH[1] / BASH_REMATCH[2]))
		fi
	done
}
