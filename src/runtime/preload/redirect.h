/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides by their text which paths are redirected: paths of the device's files, such as
 * /sys/class/infiniband/adverb0. A real file below a folder, the root, stands in for each:
 * ROOT/sys/class/infiniband/adverb0. No system call, no allocation, no lock.
 */
#ifndef ADV_RUNTIME_PRELOAD_REDIRECT_H
#define ADV_RUNTIME_PRELOAD_REDIRECT_H

#include <stdbool.h>
#include <stddef.h>

enum adv_redirect_kind {
	ADV_REDIRECT_NONE,  /* the path is not redirected */
	ADV_REDIRECT_ABOVE, /* a folder above a redirected one: "/", /dev, /sys, ... */
	ADV_REDIRECT_OURS,
	/* The path leads into a redirected folder and out again by ".."; `folder` and `rest` are
	 * the path without that detour, because the kernel may not have the folder. */
	ADV_REDIRECT_THROUGH,
};

struct adv_redirect {
	/* The redirected folder, without "." and ".." and links. If there is an interface, the
	 * folder is below that of its device. */
	const char *folder;
	const char *rest; /* the remaining part of the path; may be empty */
	const char
		*interface; /* name of the interface in a path below /sys/class/net/, else NULL */
	size_t interface_len;
	bool device; /* the path is a device node below /dev/infiniband */
};

/*
 * Returns whether an absolute path is redirected, or may be. The caller checks that the file
 * exists, and that an interface has a device and a GID. The search ends at a folder that is a
 * symbolic link, because ".." after it leads elsewhere.
 */
enum adv_redirect_kind adv_redirect_path(const char *path, struct adv_redirect *r);

/*
 * Returns the path for which a path below a root stands: the text behind the root, or "/" for the
 * root itself. root_len: the length of the root's own path. getcwd(2) and links in /proc return
 * paths below a root. NULL if the path is below no root. The root may belong to another user.
 */
const char *adv_redirect_reverse(const char *path, size_t *root_len);

#endif
