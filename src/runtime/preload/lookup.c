/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/sys.h"
#include "runtime/identity/identity.h"
#include "runtime/identity/sysfs_root.h"
#include "runtime/preload/contents.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/redirect.h"
#include "runtime/preload/tree.h"
#include "runtime/preload/uverbs_node.h"

#define NODES 256 /* highest number of a node uverbsN, and one more */

static const char uverbs_node[NODES][sizeof("/dev/null")] = {[0 ... NODES - 1] = "/dev/null"};
static const char rdma_cm_node[] = "/dev/null";

/* How the process reached its current folder. After the first use of this value: the position of
 * the folder, ELSEWHERE, ABOVE or INSIDE. */
static _Atomic enum {
	INHERITED,
	GONE_TO,    /* reached by the folder's own path */
	REDIRECTED, /* reached by the folder's redirected path */
	ELSEWHERE,  /* an unrelated folder, or a folder of the tree reached by its own path */
	ABOVE,
	INSIDE,
} current;

/* How each descriptor was opened, by number. */
#define NOTED_MAX 65536
static _Atomic unsigned char noted[NOTED_MAX];
enum { NOT_OURS, OVER, OPENED, READ };

void *adv_next(struct adv_next *next)
{
	void *p = atomic_load_explicit(&next->known, memory_order_relaxed);

	if (!p) {
		int saved = errno;

		p = dlsym(RTLD_NEXT, next->name);
		atomic_store_explicit(&next->known, p, memory_order_relaxed);
		errno = saved;
	}
	return p;
}

/* ---- paths that are relative to the tree ---- */

/* Returns the length of a folder's path, or 0. errno is kept. */
static size_t folder_path(int dirfd, char room[PATH_MAX])
{
	char name[32];
	int saved = errno;
	long n;

	if (dirfd == AT_FDCWD) {
		n = syscall(SYS_getcwd, room, PATH_MAX) - 1; /* the result counts the NUL */
	} else {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", dirfd);
		n = syscall(SYS_readlinkat, AT_FDCWD, name, room, PATH_MAX - 1);
		if (n > 0)
			room[n] = 0;
	}
	errno = saved;
	return n > 0 ? (size_t)n : 0;
}

/* Returns the path for which a path in the caller's own tree stands. NULL: the path is in no tree,
 * or in the tree of another user. */
static const char *reverse_path(const char *path)
{
	char root[PATH_MAX];
	const char *stands_for;
	size_t len;
	int saved = errno;

	stands_for = adv_redirect_reverse(path, &len);
	if (!stands_for || len >= sizeof(root))
		return NULL;
	memcpy(root, path, len);
	root[len] = 0;
	if (!adv_sysfs_root_is(root))
		stands_for = NULL;
	errno = saved;
	return stands_for;
}

static bool is_descriptor_inside(int dirfd)
{
	char room[PATH_MAX];

	return folder_path(dirfd, room) && reverse_path(room);
}

static bool is_path_above(const char *path)
{
	struct adv_redirect r;

	return adv_redirect_path(path, &r) == ADV_REDIRECT_ABOVE;
}

static unsigned note_of(int fd)
{
	return fd >= 0 && fd < NOTED_MAX ? noted[fd] : NOT_OURS;
}

static void note_descriptor(int fd, unsigned what)
{
	if (fd >= 0 && fd < NOTED_MAX && noted[fd] != what)
		noted[fd] = (unsigned char)what;
}

/* For a program that was started in a folder of the tree: true if the folder was reached by its
 * redirected path. Then the shell's PWD is not a path of the tree, or there is no PWD. */
static bool is_redirected_at_start(void)
{
	const char *shells = getenv("PWD");
	size_t len;

	return !shells || !adv_redirect_reverse(shells, &len);
}

static void update_current(void)
{
	char room[PATH_MAX];
	int how = current;

	if (!folder_path(AT_FDCWD, room))
		current = ELSEWHERE;
	else if (is_path_above(room))
		current = ABOVE;
	else if (how != GONE_TO && reverse_path(room) &&
		 (how == REDIRECTED || is_redirected_at_start()))
		current = INSIDE;
	else
		current = ELSEWHERE;
}

/* Finds the position of the current folder at start: functions of the C library that walk a tree
 * change the folder without interposed calls. */
__attribute__((constructor)) static void find_current_at_start(void)
{
	update_current();
}

static bool current_is_inside(void)
{
	if (current < ELSEWHERE)
		update_current();
	return current == INSIDE;
}

/* Returns the length of a folder's path as the program sees it. 0: the folder is neither redirected
 * nor above a redirected one. */
static size_t seen_folder(int dirfd, char room[PATH_MAX])
{
	bool ours = dirfd == AT_FDCWD ? current_is_inside() : note_of(dirfd) >= OPENED;
	const char *seen;

	if (!folder_path(dirfd, room))
		return 0;
	seen = ours ? reverse_path(room) : NULL;
	if (seen)
		memmove(room, seen, strlen(seen) + 1);
	return seen || is_path_above(room) ? strlen(room) : 0;
}

/* True if fd was opened for a folder above a redirected one. */
static bool is_folder_above(int fd, int dirfd, const char *path, bool folder)
{
	char room[PATH_MAX];

	if (fd < 0 || !path)
		return false;
	if (path[0] == '/')
		return is_path_above(path);
	/* A relative path reaches a folder above a redirected one only from such a folder or from a
	 * redirected folder. */
	return folder && (dirfd == AT_FDCWD ? current >= ABOVE : note_of(dirfd) != NOT_OURS) &&
	       folder_path(fd, room) && is_path_above(room);
}

void adv_lookup_note_open(int fd, int dirfd, const char *path, const char *resolved, bool folder)
{
	size_t len;

	if (resolved != path)
		note_descriptor(fd, adv_redirect_reverse(resolved, &len) ? OPENED : OVER);
	else
		note_descriptor(fd, is_folder_above(fd, dirfd, path, folder) ? OVER : NOT_OURS);
}

void adv_lookup_note_copy(int fd, int copy)
{
	note_descriptor(copy, note_of(fd));
}

static void refresh_tree(int fd, bool at_offset)
{
	char root[PATH_MAX];
	int saved = errno;

	if (!is_descriptor_inside(fd))
		note_descriptor(fd, NOT_OURS);
	else if (note_of(fd) == OPENED)
		note_descriptor(fd, READ);
	else if (!at_offset || syscall(SYS_lseek, fd, 0L, SEEK_CUR) == 0)
		(void)adv_tree_ready(true, root);
	errno = saved;
}

void adv_lookup_refresh(int fd, bool at_offset)
{
	if (note_of(fd) >= OPENED)
		refresh_tree(fd, at_offset);
}

void adv_lookup_note_chdir(const char *path, const char *resolved)
{
	current = resolved != path ? REDIRECTED : GONE_TO;
}

void adv_lookup_note_fchdir(int fd)
{
	current = note_of(fd) >= OPENED ? REDIRECTED : GONE_TO;
}

bool adv_lookup_getcwd(char room[PATH_MAX])
{
	return current_is_inside() && folder_path(AT_FDCWD, room) && adv_lookup_reverse(room);
}

static bool leads_to_ours(const char *path)
{
	struct adv_redirect r;
	enum adv_redirect_kind kind = adv_redirect_path(path, &r);

	return kind == ADV_REDIRECT_OURS || kind == ADV_REDIRECT_THROUGH;
}

/* Makes the path absolute, as the program sees it. False if it is too long, or relative to an
 * unrelated folder. */
static bool make_absolute(int dirfd, const char *path, char room[PATH_MAX])
{
	size_t len, more = strlen(path);

	if (*path == '/') {
		if (more >= PATH_MAX)
			return false;
		memcpy(room, path, more + 1);
		return true;
	}
	len = seen_folder(dirfd, room);
	if (!len)
		return false;
	if (len + 1 + more >= PATH_MAX)
		return false;
	room[len] = '/';
	memcpy(room + len + 1, path, more + 1);
	return true;
}

static bool leads_there_from(int dirfd, const char *path)
{
	char room[PATH_MAX];

	return make_absolute(dirfd, path, room) && leads_to_ours(room);
}

bool adv_lookup_concerns(int dirfd, const char *path)
{
	if (!path || !*path)
		return false;
	if (*path == '/')
		return leads_to_ours(path);
	if (dirfd != AT_FDCWD)
		return note_of(dirfd) != NOT_OURS && leads_there_from(dirfd, path);
	return current_is_inside() || (current == ABOVE && leads_there_from(dirfd, path));
}

/* ---- resolving ---- */

static bool path_exists(const char *path)
{
	struct stat st;

	return syscall(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* True if the kernel itself has a file of this path in a redirected folder. The path of such a file
 * leads to the kernel's file. */
static bool is_kernels(const struct adv_redirect *r)
{
	size_t len = strcspn(r->rest, "/");
	char path[PATH_MAX];

	if (len == 0 || (len <= 2 && strspn(r->rest, ".") >= len) ||
	    adv_rail_list_have(r->rest, len))
		return false;
	return snprintf(path, sizeof(path), "%s/%.*s", r->folder, (int)len, r->rest) <
		       (int)sizeof(path) &&
	       path_exists(path);
}

/* Returns N of the node uverbsN; -1: it is none. */
static int number_of_node(const char *resolved)
{
	uintptr_t at = (uintptr_t)resolved - (uintptr_t)uverbs_node;

	return at < sizeof(uverbs_node) ? (int)(at / sizeof(uverbs_node[0])) : -1;
}

/* Writes the path in the tree of a file of an interface's device. NULL: it is too long. */
static const char *path_of_interface(const struct adv_redirect *r, const char *root,
				     char room[PATH_MAX])
{
	return snprintf(room, PATH_MAX, "%s/" ADV_CONTENTS_BY_NET "/%.*s%s%s%s", root,
			(int)r->interface_len, r->interface, r->folder, *r->rest ? "/" : "",
			r->rest) < PATH_MAX
		       ? room
		       : NULL;
}

/* True for an interface that has a device and a GID, but no RDMA card of its own. */
static bool is_mirrored_interface(const struct adv_redirect *r, const char *root)
{
	char path[PATH_MAX];
	int len = (int)r->interface_len;

	snprintf(path, sizeof(path), "/sys/class/net/%.*s/device", len, r->interface);
	if (!path_exists(path))
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%.*s/device/infiniband", len, r->interface);
	if (path_exists(path))
		return false;
	snprintf(path, sizeof(path), "%.2048s/" ADV_CONTENTS_BY_NET "/%.*s", root, len,
		 r->interface);
	return path_exists(path);
}

/* Returns the node of a name below /dev/infiniband; NULL: the tree does not have it. */
static const char *node_of_name(const char *root, const char *name)
{
	unsigned long number = 0;
	char path[PATH_MAX];

	if (strcmp(name, "rdma_cm") == 0)
		return rdma_cm_node;
	snprintf(path, sizeof(path), "%.2048s/dev/infiniband/%.64s", root, name);
	if (strncmp(name, "uverbs", strlen("uverbs")) == 0 && path_exists(path))
		number = strtoul(name + strlen("uverbs"), NULL, 10) + 1;
	return number && number <= NODES ? uverbs_node[number - 1] : NULL;
}

bool adv_lookup_is_node(const char *resolved)
{
	return resolved == rdma_cm_node || number_of_node(resolved) >= 0;
}

/* True if the file is in one of the folders counters/ and hw_counters/. A program that looks for
 * its devices opens dozens of other files, and an update of the tree writes all of them. */
static bool is_counter(const struct adv_redirect *r)
{
	return strstr(r->rest, "counters/") != NULL;
}

/* Returns the path of the tree, or the device node, for an absolute path. NULL: the path is not
 * redirected. */
static const char *resolve_absolute(const char *path, enum adv_lookup look, char room[PATH_MAX])
{
	struct adv_redirect r;
	enum adv_redirect_kind kind = adv_redirect_path(path, &r);
	char root[PATH_MAX];
	const char *node;

	if (kind == ADV_REDIRECT_OURS)
		adv_foreign_check();
	if (kind == ADV_REDIRECT_NONE || kind == ADV_REDIRECT_ABOVE ||
	    (kind == ADV_REDIRECT_OURS && is_kernels(&r)) ||
	    !adv_tree_ready(look == ADV_LOOKUP_CURRENT && is_counter(&r), root))
		return NULL;
	if (kind == ADV_REDIRECT_THROUGH) {
		snprintf(room, PATH_MAX, "%s/%s", r.folder, r.rest);
		return room;
	}
	if (r.interface && !is_mirrored_interface(&r, root))
		return NULL;
	node = r.device && look != ADV_LOOKUP_NAME ? node_of_name(root, r.rest) : NULL;
	if (node)
		return node;
	if (r.interface)
		return path_of_interface(&r, root, room);
	return snprintf(room, PATH_MAX, "%s%s%s%s", root, r.folder, *r.rest ? "/" : "", r.rest) <
			       PATH_MAX
		       ? room
		       : NULL;
}

const char *adv_lookup_resolve(int dirfd, const char *path, enum adv_lookup look,
			       char room[PATH_MAX])
{
	char absolute[PATH_MAX];
	const char *resolved;
	int saved = errno;

	if (!make_absolute(dirfd, path, absolute))
		return path;
	resolved = resolve_absolute(absolute, look, room);
	errno = saved;
	if (resolved)
		return resolved;
	if (*path == '/')
		return path;
	/* The path leaves the redirected folders by "..", which would lead elsewhere from the
	 * tree. */
	memcpy(room, absolute, strlen(absolute) + 1);
	return room;
}

/* ---- results of functions ---- */

bool adv_lookup_node_number(const char *resolved, unsigned *major_number, unsigned *minor_number)
{
	int number = number_of_node(resolved);

	if (number < 0)
		return false;
	*major_number = ADV_UVERBS_NODE_MAJOR;
	*minor_number = ADV_UVERBS_NODE_FIRST_MINOR + (unsigned)number;
	return true;
}

void adv_lookup_fix_stat(const char *resolved, const char *path, struct stat *st)
{
	unsigned major_number, minor_number;
	int saved = errno;

	if (S_ISREG(st->st_mode) && adv_lookup_is_ours(resolved, path))
		st->st_mode &= ~(mode_t)0222;
	if (adv_lookup_node_number(resolved, &major_number, &minor_number))
		st->st_rdev = makedev(major_number, minor_number);
	errno = saved;
}

bool adv_lookup_is_ours(const char *resolved, const char *path)
{
	bool ours = resolved != path && reverse_path(resolved);
	int saved = errno;
	long fd = ours ? syscall(SYS_openat, AT_FDCWD, resolved, O_PATH | O_CLOEXEC) : -1;

	if (fd >= 0) {
		ours = is_descriptor_inside((int)fd);
		adv_sys_close((int)fd);
	}
	errno = saved;
	return ours;
}

bool adv_lookup_reverse(char *text)
{
	const char *seen = reverse_path(text);

	if (seen)
		memmove(text, seen, strlen(seen) + 1);
	return seen;
}

/* Returns the descriptor of this process that a path in /proc names; -1: the path names none. */
static int own_descriptor(const char *link)
{
	static const char *const self[] = {"/proc/self/fd/", "/proc/thread-self/fd/"};
	char own[32];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(self); i++)
		if (strncmp(link, self[i], strlen(self[i])) == 0)
			return atoi(link + strlen(self[i]));
	snprintf(own, sizeof(own), "/proc/%d/fd/", (int)syscall(SYS_getpid));
	return strncmp(link, own, strlen(own)) == 0 ? atoi(link + strlen(own)) : -1;
}

bool adv_lookup_reverse_link(const char *link, char *text)
{
	int fd = own_descriptor(link);

	if (fd >= 0 && note_of(fd) < OPENED)
		return false;
	if (strcmp(link, "/proc/self/cwd") == 0 && !current_is_inside())
		return false;
	return adv_lookup_reverse(text);
}
