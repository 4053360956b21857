/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every function that takes a path does first. A path that is not ours costs a comparison:
 * no allocation, no lock, and no system call but one getcwd(2) in a process's first look-up of a
 * relative path. Only a process whose current folder is above ours ("/", /sys, ...), or that has
 * opened one of these or ours, pays one for each look-up that starts there. errno is left alone.
 */
#ifndef ADV_PRELOAD_LOOK_H
#define ADV_PRELOAD_LOOK_H

#include <alloca.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define ADV_INTERPOSE __attribute__((visibility("default")))

enum adv_look {
	ADV_LOOK_UP,	 /* at what there is: may be 50 ms old */
	ADV_LOOK_INTO,	 /* to read: as it is now */
	ADV_LOOK_AT_NAME /* as ADV_LOOK_UP, but a device node is a name like any other */
};

/* The next function of this name behind us, looked up once. */
typedef _Atomic(void *) adv_next_t;
void *adv_next(adv_next_t *known, const char *name);

/* True where the path may be ours. */
bool adv_look_concerns(int dirfd, const char *path);

/*
 * Where to look instead: in room, or a device node (below), or the path itself where it is not ours
 * after all. errno is kept.
 */
const char *adv_look_resolve(int dirfd, const char *path, enum adv_look look, char room[PATH_MAX]);

/* The path that a function is to go on with. */
#define ADV_LOOK(dirfd, path, look)                                                                \
	(adv_look_concerns(dirfd, path) ? adv_look_resolve(dirfd, path, look, alloca(PATH_MAX))    \
					: (path))

/* What stands in for /dev/infiniband/uverbsN and rdma_cm: /dev/null. Compare the pointers. */
extern const char adv_node_uverbs[], adv_node_rdma_cm[];

static inline bool adv_look_is_node(const char *resolved)
{
	return resolved == adv_node_uverbs || resolved == adv_node_rdma_cm;
}

/* The major and minor number that a node shows; false for no node. */
bool adv_look_node_number(const char *resolved, unsigned *major_number, unsigned *minor_number);

/* Makes what stat(2) found of `resolved` what it stands for: a node, or a file nobody may write. */
void adv_look_fix_stat(const char *resolved, const char *path, struct stat *st);

/* True where `resolved` ends in the tree, where nobody may write, or nowhere; links of the tree
 * lead to files of the kernel too. errno is kept. */
bool adv_look_is_ours(const char *resolved, const char *path);

/* A path of the tree, in a text that a function returns, becomes that which it stands for: true. */
bool adv_look_back(char *text);

/* Notes that a descriptor was opened in the tree, or (a folder) that one was, of which names in the
 * tree may be looked up; below 0: not. */
void adv_look_opened(int fd);
void adv_look_opened_folder(int fd, const char *path);

/* Before reading from the start of a file that may be one of the tree's: unless it was only just
 * opened, it is brought up to date. at_offset: the descriptor's own place decides whether it is the
 * start. errno is kept. */
void adv_look_again(int fd, bool at_offset);

/* The current folder has changed, or may have. */
void adv_look_moved(void);

/* True, and its path as it is to be seen, where the current folder is one of the tree. */
bool adv_look_current(char room[PATH_MAX]);

#endif
