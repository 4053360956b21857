/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is a path that a program passes to the preload, and the current folder, which is also
 * the folder of each descriptor: any text. Checks that the preload recognises Adverb's paths in
 * each spelling, and that each result fits its buffer. Input: a byte of choices, the folder, a zero
 * byte, the path.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "base/sys.h"
#include "fuzz.h"
#include "runtime/identity/sysfs_root.h"
#include "runtime/preload/lookup.h"
#include "runtime/preload/redirect.h"
#include "runtime/preload/tree.h"

#define ROOT "/run/user/1000" ADV_SYSFS_ROOT_PREFIX "1000-4026531840"

static char folder[PATH_MAX]; /* the current one, and that of each descriptor */

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

/* Replaces all system calls: none reaches the real file system. */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	size_t len = strlen(folder);
	va_list list;
	long a[6];

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	switch (number) {
	case SYS_getcwd:
		memcpy((char *)a[0], folder, len + 1);
		return (long)len + 1;
	case SYS_readlinkat: /* like the kernel: without a zero byte at the end */
		if (len > (size_t)a[3])
			len = (size_t)a[3];
		memcpy((char *)a[2], folder, len);
		return (long)len;
	case SYS_newfstatat: /* half of all names exist */
		return strlen((const char *)a[1]) % 2 ? 0 : -1;
	case SYS_faccessat:
		return -1;
	case SYS_lseek:
		return 0;
	case SYS_openat:
		return strlen((const char *)a[1]) % 2 ? 100 : -1;
	default:
		return 0;
	}
}

bool adv_tree_ready(bool now, char root[PATH_MAX])
{
	memcpy(root, ROOT, sizeof(ROOT));
	return true;
}

bool adv_sysfs_root_is(const char *path)
{
	return strcmp(path, ROOT) == 0;
}

static bool is_replaced_folder(const struct adv_redirect *r)
{
	static const struct {
		const char *folder;
		bool of_interface;
	} ours[] = {
		{"/dev/infiniband", false},
		{"/sys/class/infiniband", false},
		{"/sys/class/infiniband_verbs", false},
		{"/sys/devices/adverb", false},
		{"/infiniband", true},
		{"/infiniband_verbs", true},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(ours); i++)
		if (strcmp(r->folder, ours[i].folder) == 0)
			return !r->interface == !ours[i].of_interface;
	return false;
}

/* The same path with "/./" for each "/". */
static void write_with_dots(const char *path, char *out)
{
	for (; *path; path++) {
		*out++ = *path;
		if (*path == '/') {
			*out++ = '.';
			*out++ = '/';
		}
	}
	*out = 0;
}

static void check_redirect(const char *path)
{
	static char longer[3 * PATH_MAX];
	struct adv_redirect r, again;
	enum adv_redirect_kind kind = adv_redirect_path(path, &r);
	size_t len = strlen(path);

	FUZZ_CHECK(r.rest >= path && r.rest <= path + len);
	if (r.interface)
		FUZZ_CHECK(r.interface > path && r.interface + r.interface_len <= path + len &&
			   !memchr(r.interface, '/', r.interface_len));
	write_with_dots(path, longer);
	FUZZ_CHECK(adv_redirect_path(longer, &again) == kind);
	if (kind == ADV_REDIRECT_OURS || kind == ADV_REDIRECT_THROUGH)
		FUZZ_CHECK(strcmp(r.folder, again.folder) == 0);
	if (kind != ADV_REDIRECT_OURS)
		return;
	FUZZ_CHECK(is_replaced_folder(&r));
	/* The replaced path is no longer than the original, unless that leads through an interface.
	 */
	snprintf(longer, sizeof(longer), "%s/%s", r.folder, r.rest);
	if (!r.interface) {
		FUZZ_CHECK(strlen(r.folder) + strlen(r.rest) <= len);
		FUZZ_CHECK(adv_redirect_path(longer, &again) == ADV_REDIRECT_OURS ||
			   strstr(r.rest, ".."));
	}
}

static void check_reverse(const char *path)
{
	static char inside[2 * PATH_MAX];
	const char *back;
	size_t len;

	snprintf(inside, sizeof(inside), "%s%s", ROOT, path);
	back = adv_redirect_reverse(inside, &len);
	FUZZ_CHECK(back && strcmp(back, *path ? path : "/") == 0 && len == strlen(ROOT));
	back = adv_redirect_reverse(path, &len);
	if (back)
		FUZZ_CHECK(len <= strlen(path) && strcmp(back, path[len] ? path + len : "/") == 0);
}

/* Checks that a replacing file is an ordinary file for a program that opened it by its own path. */
static void check_own_path(int dirfd, const char *path)
{
	char room[PATH_MAX];
	size_t len;

	if (!adv_redirect_reverse(folder, &len))
		return;
	adv_lookup_note_chdir(folder, folder);
	adv_lookup_note_open(7, AT_FDCWD, folder, folder, true);
	if (path[0] && path[0] != '/')
		FUZZ_CHECK(!adv_lookup_concerns(dirfd, path));
	FUZZ_CHECK(!adv_lookup_getcwd(room));
}

static void check_lookup(int dirfd, const char *path, enum adv_lookup look)
{
	char room[PATH_MAX + 1];
	const char *resolved;
	struct stat st = {.st_mode = S_IFREG | 0644};

	check_own_path(dirfd, path);
	adv_lookup_note_chdir("/sys/class/infiniband", folder);
	adv_lookup_note_open(7, AT_FDCWD, "/sys/class/infiniband", folder, true);
	if (adv_lookup_getcwd(room))
		FUZZ_CHECK(room[0] == '/');
	if (!adv_lookup_concerns(dirfd, path))
		return;
	room[PATH_MAX] = 0x5a;
	resolved = adv_lookup_resolve(dirfd, path, look, room);
	FUZZ_CHECK(room[PATH_MAX] == 0x5a);
	FUZZ_CHECK(resolved == path || resolved == room || adv_lookup_is_node(resolved));
	FUZZ_CHECK(resolved == path || resolved[0] == '/' || *path != '/');
	if (resolved == room)
		FUZZ_CHECK(strlen(room) < PATH_MAX);
	if (adv_lookup_is_node(resolved))
		FUZZ_CHECK(look != ADV_LOOKUP_NAME);
	adv_lookup_fix_stat(resolved, path, &st);
	if (resolved == room)
		adv_lookup_reverse(room);
	adv_lookup_note_open(5, dirfd, path, resolved, false);
	adv_lookup_note_copy(5, 6);
	adv_lookup_refresh(5, false);
	adv_lookup_refresh(5, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[PATH_MAX + 16]; /* programs also pass paths that are too long */
	const uint8_t *zero;
	size_t len;

	if (size < 2)
		return 0;
	zero = memchr(data + 1, 0, size - 1);
	if (!zero)
		return 0;
	len = (size_t)(zero - data) - 1;
	if (len >= sizeof(folder))
		return 0;
	memcpy(folder, data + 1, len);
	folder[len] = 0;
	len = size - (size_t)(zero + 1 - data);
	if (len >= sizeof(path) || memchr(zero + 1, 0, len))
		return 0;
	memcpy(path, zero + 1, len);
	path[len] = 0;
	if (path[0] == '/') {
		check_redirect(path);
		check_reverse(path);
	}
	check_lookup(data[0] & 1 ? AT_FDCWD : 7, path, (enum adv_lookup)((data[0] >> 1) % 3));
	return 0;
}
