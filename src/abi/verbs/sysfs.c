/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions by which programs read sysfs through the library. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/export.h"

const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

ADV_EXPORT const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

/* Reads a file of sysfs. Returns the number of bytes read, without a newline at the end. A NUL
 * follows if there is room. -1 with errno. Calls libc, so that a preloaded library can replace
 * sysfs. */
ADV_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size);
	close(fd);
	if (len > 0 && buf[len - 1] == '\n')
		buf[--len] = '\0';
	else if (len >= 0 && (size_t)len < size)
		buf[len] = '\0';
	return (int)len;
}
