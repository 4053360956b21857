/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first step of every interposed function that takes a path: decides whether the path is
 * redirected (runtime/preload/redirect.h).
 *
 * For all other paths the decision is a comparison: no allocation, no lock, no system call. There
 * are two exceptions:
 * - The first look-up of a relative path after the process has changed its folder calls getcwd(2)
 *   once.
 * - Each look-up that starts in a redirected folder, or in a folder above one ("/", /sys, ...),
 *   makes one system call. errno is kept.
 *
 * The real files that stand in for redirected ones are in the tree. Under their own paths they are
 * ordinary files. A process sees redirected contents in a folder of the tree only if it has reached
 * the folder by its redirected path. So the look-up records by which path each descriptor and the
 * current folder were reached.
 */
#ifndef ADV_RUNTIME_PRELOAD_LOOKUP_H
#define ADV_RUNTIME_PRELOAD_LOOKUP_H

#include <alloca.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define ADV_INTERPOSE __attribute__((visibility("default")))

enum adv_lookup {
	ADV_LOOKUP_CACHED,  /* existence and type: may be 50 ms old */
	ADV_LOOKUP_CURRENT, /* contents: counters are brought up to date; all else may be 50 ms old
			     */
	ADV_LOOKUP_NAME	    /* as ADV_LOOKUP_CACHED; a device node is an ordinary name */
};

/* The next definition of a function after this library's. */
struct adv_next {
	const char *name;
	_Atomic(void *) known; /* NULL: not searched yet */
};

/* Returns the definition. The first call searches it. */
void *adv_next(struct adv_next *next);

/* The caller's adv_next of the function with this name. */
#define ADV_NEXT(function)                                                                         \
	({                                                                                         \
		static struct adv_next next_definition = {function, NULL};                         \
		&next_definition;                                                                  \
	})

/* True if the path may be redirected. */
bool adv_lookup_concerns(int dirfd, const char *path);

/* Returns the path to use instead of `path`: a path in room, or a device node (below). If `path` is
 * not redirected, returns `path` itself. errno is kept. */
const char *adv_lookup_resolve(int dirfd, const char *path, enum adv_lookup look,
			       char room[PATH_MAX]);

/* The path with which the interposed function continues. */
#define ADV_LOOKUP_PATH(dirfd, path, look)                                                         \
	(adv_lookup_concerns(dirfd, path)                                                          \
		 ? adv_lookup_resolve(dirfd, path, look, alloca(PATH_MAX))                         \
		 : (path))

/* True if `resolved` stands for /dev/infiniband/uverbsN or rdma_cm: it is "/dev/null", at an
 * address of its own. */
bool adv_lookup_is_node(const char *resolved);

/* Returns the major and minor number of a node. False if `resolved` is not
 * /dev/infiniband/uverbsN. */
bool adv_lookup_node_number(const char *resolved, unsigned *major_number, unsigned *minor_number);

/* Changes the result of stat(2) on `resolved` to the result for the redirected file: a device node,
 * or a file without write permission. */
void adv_lookup_fix_stat(const char *resolved, const char *path, struct stat *st);

/* True if `resolved` is a file of the read-only tree, or names a missing file there. False if a
 * link of the tree leads to a file of the kernel. errno is kept. */
bool adv_lookup_is_ours(const char *resolved, const char *path);

/* If `text` is a path of the tree, replaces it by the path for which it stands and returns true.
 * `text` is the result of a function that got a resolved path. */
bool adv_lookup_reverse(char *text);
/* As adv_lookup_reverse(), for the target of `link`, a link in /proc. */
bool adv_lookup_reverse_link(const char *link, char *text);

/*
 * Records how a descriptor was opened: as `resolved`, from `path` relative to the folder dirfd.
 * `folder`: as a folder (O_DIRECTORY, O_PATH). A negative fd is ignored. errno is kept.
 */
void adv_lookup_note_open(int fd, int dirfd, const char *path, const char *resolved, bool folder);
void adv_lookup_note_copy(int fd, int copy);

/* Call it before a read. If the read starts at the beginning of a file of the tree, brings the file
 * up to date, except for the first read after the open. at_offset: the read starts at the file
 * offset; else it starts at the beginning. errno is kept. */
void adv_lookup_refresh(int fd, bool at_offset);

/* Records that the current folder has changed to `path`, which was resolved to `resolved`. */
void adv_lookup_note_chdir(const char *path, const char *resolved);
/* Records that the current folder has changed to the folder of a descriptor. */
void adv_lookup_note_fchdir(int fd);

/* True if the current folder is in the tree and was reached by its redirected path. room: the path
 * for which the folder stands. */
bool adv_lookup_getcwd(char room[PATH_MAX]);

#endif
