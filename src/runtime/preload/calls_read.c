/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read(2), pread(2): a read from the start of an open file of sysfs returns the present contents.
 * Programs that watch counters keep the files open (perftest's --report-counters).
 */
#include <unistd.h>

#include "runtime/preload/lookup.h"

ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __pread_chk(int fd, void *buf, size_t len, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t offset, size_t room);

ADV_INTERPOSE ssize_t read(int fd, void *buf, size_t len)
{
	static adv_next_t next;
	ssize_t (*call)(int, void *, size_t) = adv_next(&next, "read");

	adv_lookup_refresh(fd, true);
	return call(fd, buf, len);
}

ADV_INTERPOSE ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	static adv_next_t next;
	ssize_t (*call)(int, void *, size_t, size_t) = adv_next(&next, "__read_chk");

	adv_lookup_refresh(fd, true);
	return call(fd, buf, len, room);
}

static ssize_t call_pread(adv_next_t *next, const char *name, int fd, void *buf, size_t len,
			  off64_t offset)
{
	ssize_t (*call)(int, void *, size_t, off64_t) = adv_next(next, name);

	if (offset == 0)
		adv_lookup_refresh(fd, false);
	return call(fd, buf, len, offset);
}

ADV_INTERPOSE ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
	static adv_next_t next;

	return call_pread(&next, "pread", fd, buf, len, offset);
}

ADV_INTERPOSE ssize_t pread64(int fd, void *buf, size_t len, off64_t offset)
{
	static adv_next_t next;

	return call_pread(&next, "pread64", fd, buf, len, offset);
}

static ssize_t call_pread_chk(adv_next_t *next, const char *name, int fd, void *buf, size_t len,
			      off64_t offset, size_t room)
{
	ssize_t (*call)(int, void *, size_t, off64_t, size_t) = adv_next(next, name);

	if (offset == 0)
		adv_lookup_refresh(fd, false);
	return call(fd, buf, len, offset, room);
}

ADV_INTERPOSE ssize_t __pread_chk(int fd, void *buf, size_t len, off_t offset, size_t room)
{
	static adv_next_t next;

	return call_pread_chk(&next, "__pread_chk", fd, buf, len, offset, room);
}

ADV_INTERPOSE ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t offset, size_t room)
{
	static adv_next_t next;

	return call_pread_chk(&next, "__pread64_chk", fd, buf, len, offset, room);
}
