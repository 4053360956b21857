/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "preload/look.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "host/identity.h"
#include "preload/redirect.h"
#include "preload/tree.h"

#define UVERBS_MAJOR 231
#define UVERBS_MINOR 192

const char adv_node_uverbs[] = "/dev/null";
const char adv_node_rdma_cm[] = "/dev/null";

/* A process that never was in the tree has no descriptor of it that we know of. */
static atomic_bool been_there;
static _Atomic enum { UNKNOWN, ELSEWHERE, ABOVE, INSIDE } current;

#define NOTED_MAX 1024
static _Atomic unsigned char noted[NOTED_MAX]; /* what we know of each descriptor, as follows */
enum { NOT_OURS, OPENED, READ };

void *adv_next(adv_next_t *known, const char *name)
{
	void *p = atomic_load_explicit(known, memory_order_relaxed);

	if (!p) {
		int saved = errno;

		p = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(known, p, memory_order_relaxed);
		errno = saved;
	}
	return p;
}

/* ---- paths that are relative to the tree ---- */

/* The path of a folder, without errno; the length, or 0. */
static size_t folder_path(int dirfd, char room[PATH_MAX])
{
	char name[32];
	int saved = errno;
	long n;

	if (dirfd == AT_FDCWD) {
		n = syscall(SYS_getcwd, room, PATH_MAX) - 1; /* the NUL is counted */
	} else {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", dirfd);
		n = syscall(SYS_readlinkat, AT_FDCWD, name, room, PATH_MAX - 1);
		if (n > 0)
			room[n] = 0;
	}
	errno = saved;
	return n > 0 ? (size_t)n : 0;
}

static bool is_inside(int dirfd)
{
	char room[PATH_MAX];

	return folder_path(dirfd, room) && adv_redirect_back(room);
}

static bool is_above(const char *path)
{
	struct adv_redirect r;

	return adv_redirect_path(path, &r) == ADV_REDIRECT_ABOVE;
}

static void find_current(void)
{
	char room[PATH_MAX];

	if (!folder_path(AT_FDCWD, room))
		current = ELSEWHERE;
	else if (adv_redirect_back(room))
		current = INSIDE;
	else
		current = is_above(room) ? ABOVE : ELSEWHERE;
}

static bool current_is_inside(void)
{
	if (current == UNKNOWN)
		find_current();
	return current == INSIDE;
}

void adv_look_opened(int fd)
{
	if (fd >= 0 && fd < NOTED_MAX)
		noted[fd] = OPENED;
}

void adv_look_opened_folder(int fd, const char *path)
{
	if (fd >= 0 && path[0] == '/' && is_above(path))
		been_there = true;
}

static void look_again(int fd, bool at_offset)
{
	char root[PATH_MAX];
	int saved = errno;

	if (!is_inside(fd))
		noted[fd] = NOT_OURS;
	else if (noted[fd] == OPENED)
		noted[fd] = READ;
	else if (!at_offset || syscall(SYS_lseek, fd, 0L, SEEK_CUR) == 0)
		(void)adv_tree_ready(true, root);
	errno = saved;
}

void adv_look_again(int fd, bool at_offset)
{
	if (fd >= 0 && fd < NOTED_MAX && noted[fd] != NOT_OURS)
		look_again(fd, at_offset);
}

void adv_look_moved(void)
{
	current = UNKNOWN;
}

bool adv_look_current(char room[PATH_MAX])
{
	const char *back;

	if (!current_is_inside() || !folder_path(AT_FDCWD, room))
		return false;
	back = adv_redirect_back(room);
	if (back)
		memmove(room, back, strlen(back) + 1);
	return back;
}

static bool leads_to_ours(const char *path)
{
	struct adv_redirect r;
	enum adv_redirect_kind kind = adv_redirect_path(path, &r);

	return kind == ADV_REDIRECT_OURS || kind == ADV_REDIRECT_THROUGH;
}

/* The absolute path, as the program sees it. False: it is too long, or of no folder that matters.
 */
static bool make_absolute(int dirfd, const char *path, char room[PATH_MAX])
{
	size_t len, more = strlen(path);
	const char *base;

	if (*path == '/') {
		if (more >= PATH_MAX)
			return false;
		memcpy(room, path, more + 1);
		return true;
	}
	if (!folder_path(dirfd, room))
		return false;
	base = adv_redirect_back(room);
	if (!base && is_above(room))
		base = room;
	if (!base)
		return false;
	len = strlen(base);
	memmove(room, base, len);
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

bool adv_look_concerns(int dirfd, const char *path)
{
	if (!path || !*path)
		return false;
	if (*path == '/')
		return leads_to_ours(path);
	if (dirfd != AT_FDCWD)
		return been_there && leads_there_from(dirfd, path);
	return current_is_inside() || (current == ABOVE && leads_there_from(dirfd, path));
}

/* ---- resolving ---- */

static bool exists(const char *path)
{
	struct stat st;

	return syscall(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What the kernel itself has in these folders stays the kernel's. */
static bool is_kernels(const struct adv_redirect *r)
{
	size_t len = strcspn(r->rest, "/");
	char path[PATH_MAX];

	if (len == 0 || (len <= 2 && strspn(r->rest, ".") >= len) ||
	    strncmp(r->rest, ADV_DEVICE_NAME, len) == 0)
		return false;
	return snprintf(path, sizeof(path), "%s/%.*s", r->folder, (int)len, r->rest) <
		       (int)sizeof(path) &&
	       exists(path);
}

/* Only an interface that is a device's, has a GID, and no card of its own. */
static bool has_card(const struct adv_redirect *r, const char *root)
{
	char path[PATH_MAX];
	int len = (int)r->interface_len;

	snprintf(path, sizeof(path), "/sys/class/net/%.*s/device", len, r->interface);
	if (!exists(path))
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%.*s/device/infiniband", len, r->interface);
	if (exists(path))
		return false;
	snprintf(path, sizeof(path), "%.2048s/sys/devices/adverb/net/%.*s", root, len,
		 r->interface);
	return exists(path);
}

static const char *node_of(const char *name)
{
	char uverbs[ADV_UVERBS_NAME_LEN];

	adv_uverbs_name(uverbs);
	if (strcmp(name, uverbs) == 0)
		return adv_node_uverbs;
	return strcmp(name, "rdma_cm") == 0 ? adv_node_rdma_cm : NULL;
}

/* NULL: not ours. */
static const char *resolve(const char *path, enum adv_look look, char room[PATH_MAX])
{
	struct adv_redirect r;
	enum adv_redirect_kind kind = adv_redirect_path(path, &r);
	char root[PATH_MAX];
	const char *node;

	if (kind == ADV_REDIRECT_NONE || kind == ADV_REDIRECT_ABOVE ||
	    (kind == ADV_REDIRECT_OURS && is_kernels(&r)) ||
	    !adv_tree_ready(look == ADV_LOOK_INTO, root))
		return NULL;
	if (kind == ADV_REDIRECT_THROUGH) {
		snprintf(room, PATH_MAX, "%s/%s", r.folder, r.rest);
		return room;
	}
	if (r.interface && !has_card(&r, root))
		return NULL;
	been_there = true;
	node = r.device && look != ADV_LOOK_AT_NAME ? node_of(r.rest) : NULL;
	if (node)
		return node;
	return snprintf(room, PATH_MAX, "%s%s%s%s", root, r.folder, *r.rest ? "/" : "", r.rest) <
			       PATH_MAX
		       ? room
		       : NULL;
}

const char *adv_look_resolve(int dirfd, const char *path, enum adv_look look, char room[PATH_MAX])
{
	char absolute[PATH_MAX];
	const char *resolved;
	int saved = errno;

	if (!make_absolute(dirfd, path, absolute))
		return path;
	resolved = resolve(absolute, look, room);
	errno = saved;
	if (resolved)
		return resolved;
	if (*path == '/')
		return path;
	/* Out of the tree by "..", which is somewhere else than our files are. */
	memcpy(room, absolute, strlen(absolute) + 1);
	return room;
}

/* ---- what functions return ---- */

bool adv_look_node_number(const char *resolved, unsigned *major_number, unsigned *minor_number)
{
	char uverbs[ADV_UVERBS_NAME_LEN];

	if (resolved != adv_node_uverbs)
		return false;
	adv_uverbs_name(uverbs);
	*major_number = UVERBS_MAJOR;
	*minor_number = UVERBS_MINOR + (unsigned)strtoul(uverbs + strlen("uverbs"), NULL, 10);
	return true;
}

void adv_look_fix_stat(const char *resolved, const char *path, struct stat *st)
{
	unsigned major_number, minor_number;
	int saved = errno;

	if (S_ISREG(st->st_mode) && adv_look_is_ours(resolved, path))
		st->st_mode &= ~(mode_t)0222;
	if (adv_look_node_number(resolved, &major_number, &minor_number))
		st->st_rdev = makedev(major_number, minor_number);
	errno = saved;
}

bool adv_look_is_ours(const char *resolved, const char *path)
{
	bool ours = resolved != path && adv_redirect_back(resolved);
	int saved = errno;
	long fd = ours ? syscall(SYS_openat, AT_FDCWD, resolved, O_PATH | O_CLOEXEC) : -1;

	if (fd >= 0) {
		ours = is_inside((int)fd);
		adv_sys_close((int)fd);
	}
	errno = saved;
	return ours;
}

bool adv_look_back(char *text)
{
	const char *back = adv_redirect_back(text);

	if (back)
		memmove(text, back, strlen(back) + 1);
	return back;
}
