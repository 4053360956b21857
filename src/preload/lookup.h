/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every function that takes a path does first. A path that is not ours costs a comparison:
 * no allocation, no lock, and no system call but one getcwd(2) in a process's first look-up of a
 * relative path, and after it has changed its folder. Only look-ups that start in a folder above
 * ours ("/", /sys, ...) or in one of ours cost one each. errno is left alone.
 *
 * Where the files that stand in really are, they are files like any others: only who has come to
 * one of their folders by the name that it stands for sees in it what it stands for. So it is noted
 * how each descriptor, and the current folder, was come by.
 */
#ifndef ADV_PRELOAD_LOOKUP_H
#define ADV_PRELOAD_LOOKUP_H

#include <alloca.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define ADV_INTERPOSE __attribute__((visibility("default")))

enum adv_lookup {
	ADV_LOOKUP_CACHED,  /* at what there is: may be 50 ms old */
	ADV_LOOKUP_CURRENT, /* to read: as it is now */
	ADV_LOOKUP_NAME	    /* as ADV_LOOKUP_CACHED, but a device node is a name like any other */
};

/* The next function of this name behind us, looked up once. */
typedef _Atomic(void *) adv_next_t;
void *adv_next(adv_next_t *known, const char *name);

/* True where the path may be ours. */
bool adv_lookup_concerns(int dirfd, const char *path);

/*
 * Where to look instead: in room, or a device node (below), or the path itself where it is not ours
 * after all. errno is kept.
 */
const char *adv_lookup_resolve(int dirfd, const char *path, enum adv_lookup look,
			       char room[PATH_MAX]);

/* The path that a function is to go on with. */
#define ADV_LOOKUP_PATH(dirfd, path, look)                                                         \
	(adv_lookup_concerns(dirfd, path)                                                          \
		 ? adv_lookup_resolve(dirfd, path, look, alloca(PATH_MAX))                         \
		 : (path))

/* What stands in for /dev/infiniband/uverbsN and rdma_cm: /dev/null. Compare the pointers. */
extern const char adv_node_uverbs[], adv_node_rdma_cm[];

static inline bool adv_lookup_is_node(const char *resolved)
{
	return resolved == adv_node_uverbs || resolved == adv_node_rdma_cm;
}

/* The major and minor number that a node shows; false for no node. */
bool adv_lookup_node_number(const char *resolved, unsigned *major_number, unsigned *minor_number);

/* Makes what stat(2) found of `resolved` what it stands for: a node, or a file nobody may write. */
void adv_lookup_fix_stat(const char *resolved, const char *path, struct stat *st);

/* True where `resolved` ends in the tree, where nobody may write, or nowhere; links of the tree
 * lead to files of the kernel too. errno is kept. */
bool adv_lookup_is_ours(const char *resolved, const char *path);

/* A path of the tree, in a text that a function returns for one that was resolved, becomes that
 * which it stands for: true. */
bool adv_lookup_reverse(char *text);
/* The same for the target of a link in /proc, which this is the path of. */
bool adv_lookup_reverse_link(const char *link, char *text);

/*
 * Notes how a descriptor was come by: `resolved` from `path`, below the folder dirfd, or copied;
 * `folder`: it must be one. Below 0: not. errno is kept.
 */
void adv_lookup_note_open(int fd, int dirfd, const char *path, const char *resolved, bool folder);
void adv_lookup_note_copy(int fd, int copy);

/* Before reading from the start of a file that may be one of the tree's: unless it was only just
 * opened, it is brought up to date. at_offset: the descriptor's own place decides whether it is the
 * start. errno is kept. */
void adv_lookup_refresh(int fd, bool at_offset);

/* The current folder has changed, or may have; to the one that `path` is resolved to, or that of a
 * descriptor. */
void adv_lookup_note_chdir(const char *path, const char *resolved);
void adv_lookup_note_fchdir(int fd);

/* True, and its path as it is to be seen, where the current folder is one of the tree. */
bool adv_lookup_getcwd(char room[PATH_MAX]);

#endif
