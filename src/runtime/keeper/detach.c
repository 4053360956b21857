/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/keeper/detach.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"

#define NULL_MAJOR 1
#define NULL_MINOR 3

/* The new hard limit of descriptors, if it can be raised: enough for all slots (docs/limits.md). */
#define DESCRIPTORS_WANTED 16512

/* ---- descriptors and signals ---- */

static bool is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(NULL_MAJOR, NULL_MINOR);
}

int adv_detach_null(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	/* O_NONBLOCK and O_NOCTTY, because /dev/null may be a FIFO, on which open(2) would block,
	 * or a terminal. */
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && is_null(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = memfd_create("adverb-null", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0)
		(void)fcntl(fd, F_ADD_SEALS, seals);
	return fd;
}

void adv_detach_standard(void)
{
	int null = adv_detach_null();

	for (int fd = 0; fd < 3; fd++)
		if (null < 0)
			close(fd);
		else if (null == fd)
			(void)fcntl(fd, F_SETFD, 0);
		else
			dup2(null, fd);
	if (null > 2)
		close(null);
}

void adv_detach_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int s = 1; s < NSIG; s++)
		if (s != SIGKILL && s != SIGSTOP)
			signal(s, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- limits ---- */

static void raise_limit(__rlimit_resource_t resource, bool beyond, rlim_t most)
{
	struct rlimit r, lifted = {most, most};

	if (getrlimit(resource, &r) < 0)
		return;
	if (beyond && r.rlim_max < most && setrlimit(resource, &lifted) == 0)
		return;
	if (r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(resource, &r) < 0)
		adv_warn("resource limit %d cannot be raised: %m", (int)resource);
}

void adv_detach_limits(bool beyond)
{
	signal(SIGXFSZ, SIG_IGN);
	raise_limit(RLIMIT_CPU, beyond, RLIM_INFINITY);
	raise_limit(RLIMIT_FSIZE, beyond, RLIM_INFINITY);
	raise_limit(RLIMIT_DATA, beyond, RLIM_INFINITY);
	raise_limit(RLIMIT_AS, beyond, RLIM_INFINITY);
	raise_limit(RLIMIT_NPROC, beyond, RLIM_INFINITY);
	raise_limit(RLIMIT_NOFILE, beyond, DESCRIPTORS_WANTED);
}

/* ---- processors ---- */

void adv_detach_processors(void)
{
	const struct sched_param ordinary = {0};
	cpu_set_t all;

	/* The kernel ignores processors that do not exist or that the cpuset excludes. */
	memset(&all, 0xff, sizeof(all));
	(void)sched_setaffinity(0, sizeof(all), &all);
	if (sched_getscheduler(0) != SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_OTHER, &ordinary);
}

/* ---- control groups ---- */

/* Finds the mount point of the version 2 hierarchy. */
static bool find_mount(char mount[PATH_MAX])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX], root[PATH_MAX];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *type = strstr(line, " - ");

		found = type && strncmp(type, " - cgroup2 ", 11) == 0 &&
			sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) == 2 &&
			strcmp(root, "/") == 0;
	}
	if (f)
		fclose(f);
	return found;
}

/* Finds the path of this process's group in the version 2 hierarchy. */
static bool find_group(char group[PATH_MAX])
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		found = strncmp(line, "0::/", 4) == 0;
	}
	if (f)
		fclose(f);
	if (found)
		snprintf(group, PATH_MAX, "%s", line + 3);
	return found;
}

static bool move_process(const char *folder, pid_t pid)
{
	char path[PATH_MAX + 16], number[16];
	int fd, n = snprintf(number, sizeof(number), "%d", (int)pid);
	bool good;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = write(fd, number, (size_t)n) == n;
	close(fd);
	return good;
}

void adv_detach_group(pid_t other)
{
	char mount[PATH_MAX], group[PATH_MAX], beside[PATH_MAX];
	char *slash;
	int n;

	if (!find_mount(mount) || !find_group(group))
		return;
	slash = strrchr(group, '/');
	/* The root group has no owner, and groups above the namespace's root must not be
	 * changed. */
	if (!slash[1] || strstr(group, "/.."))
		return;
	*slash = 0;
	n = snprintf(beside, sizeof(beside), "%s%s/adverbd-%u", mount, group, (unsigned)geteuid());
	if (n >= (int)sizeof(beside))
		return;
	(void)mkdir(beside, 0755);
	if (!move_process(beside, getpid())) {
		(void)rmdir(beside);
		return;
	}
	if (other)
		(void)move_process(beside, other);
	adv_info("moved to the control group %s", beside);
}
