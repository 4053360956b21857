/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/keeper/descriptors.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define HIGHEST (1u << 20) /* the kernel's default fs.nr_open */

/* Returns the hard limit, because open descriptors may be above the soft limit. */
static unsigned highest_possible(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max > HIGHEST)
		return HIGHEST;
	return (unsigned)limit.rlim_max;
}

/* Closes the descriptors listed in /proc/self/fd. False: there is no /proc. */
static bool close_listed(unsigned first, unsigned last)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;

	if (!dir)
		return false;
	while ((e = readdir(dir))) {
		char *end;
		unsigned long fd = strtoul(e->d_name, &end, 10);

		if (end != e->d_name && fd >= first && fd <= last && (int)fd != dirfd(dir))
			close((int)fd);
	}
	closedir(dir);
	return true;
}

void adv_close_range(unsigned first, unsigned last)
{
	unsigned highest;

	if (close_range(first, last, 0) == 0 || close_listed(first, last))
		return;
	highest = highest_possible();
	if (last > highest)
		last = highest;
	for (unsigned fd = first; fd <= last; fd++)
		close((int)fd);
}
