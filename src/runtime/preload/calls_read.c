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
	ssize_t (*call)(int, void *, size_t) = adv_next(ADV_NEXT("read"));

	adv_lookup_refresh(fd, true);
	return call(fd, buf, len);
}

ADV_INTERPOSE ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	ssize_t (*call)(int, void *, size_t, size_t) = adv_next(ADV_NEXT("__read_chk"));

	adv_lookup_refresh(fd, true);
	return call(fd, buf, len, room);
}

static ssize_t call_pread(struct adv_next *next, int fd, void *buf, size_t len, off64_t offset)
{
	ssize_t (*call)(int, void *, size_t, off64_t) = adv_next(next);

	if (offset == 0)
		adv_lookup_refresh(fd, false);
	return call(fd, buf, len, offset);
}

ADV_INTERPOSE ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
	return call_pread(ADV_NEXT("pread"), fd, buf, len, offset);
}

ADV_INTERPOSE ssize_t pread64(int fd, void *buf, size_t len, off64_t offset)
{
	return call_pread(ADV_NEXT("pread64"), fd, buf, len, offset);
}

static ssize_t call_pread_chk(struct adv_next *next, int fd, void *buf, size_t len, off64_t offset,
			      size_t room)
{
	ssize_t (*call)(int, void *, size_t, off64_t, size_t) = adv_next(next);

	if (offset == 0)
		adv_lookup_refresh(fd, false);
	return call(fd, buf, len, offset, room);
}

ADV_INTERPOSE ssize_t __pread_chk(int fd, void *buf, size_t len, off_t offset, size_t room)
{
	return call_pread_chk(ADV_NEXT("__pread_chk"), fd, buf, len, offset, room);
}

ADV_INTERPOSE ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t offset, size_t room)
{
	return call_pread_chk(ADV_NEXT("__pread64_chk"), fd, buf, len, offset, room);
}
