#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The manual pages render without a warning.
set -eu
command -v groff >/dev/null || { echo 'skipped: groff is not installed'; exit 77; }
for page in "$@"; do
	said=$(groff -ww -b -man -Tutf8 "$page" 2>&1 >/dev/null)
	[ -z "$said" ] || { echo "$said"; exit 1; }
done
