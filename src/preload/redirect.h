/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which paths are ours. Real files stand in for them, in a folder (the root) that mirrors the
 * levels above: /sys/class/infiniband/adverb0 is ROOT/sys/class/infiniband/adverb0. Text only;
 * nothing here asks the file system, allocates or takes a lock.
 */
#ifndef ADV_PRELOAD_REDIRECT_H
#define ADV_PRELOAD_REDIRECT_H

#include <stdbool.h>
#include <stddef.h>

enum adv_redirect_kind {
	ADV_REDIRECT_NONE,  /* not ours */
	ADV_REDIRECT_ABOVE, /* one of the folders that ours are in: "/", /dev, /sys, ... */
	ADV_REDIRECT_OURS,
	ADV_REDIRECT_THROUGH, /* through a folder of ours, which the kernel may not have, and out
			       * again by ".."; folder and rest are the way without that */
};

struct adv_redirect {
	const char *folder;    /* of ours, as in the path without dots and links */
	const char *rest;      /* what follows in the path given; may be empty */
	const char *interface; /* where it is of /sys/class/net/: its name, else NULL */
	size_t interface_len;
	bool device; /* a device node below /dev/infiniband */
};

/*
 * Whether an absolute path names something of ours, or may: that there is such a file, and for
 * an interface that it has a card and a GID, is for the caller to find out. Folders that are
 * symbolic links end the search, as ".." behind them goes elsewhere.
 */
enum adv_redirect_kind adv_redirect_path(const char *path, struct adv_redirect *r);

/*
 * Where a path of a root (as getcwd(2) or a link in /proc tells it) stands for: the text behind the
 * root, or "/" for the root itself; and how long the root's own path is. NULL: of no root. Whether
 * it is the caller's is not known here.
 */
const char *adv_redirect_reverse(const char *path, size_t *root_len);

#endif
