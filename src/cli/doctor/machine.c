/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb doctor: versions, limits, permissions and the kernel's features. */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/version.h"
#include "cli/command/environment.h"
#include "runtime/control/start.h"
#include "runtime/progress/slice.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#define FILES_FOR_ALL_SLOTS 16512 /* four descriptors for each of 4096 slots, and 128 */
#define BUFFER_WANTED	    (4u << 20)

/* Reads the first line that a program prints. */
static bool first_line(const char *path, const char *option, char *line, size_t size)
{
	char command[PATH_MAX + 64];
	bool good;
	FILE *f;

	if (strchr(path, '\'') || access(path, X_OK) != 0 ||
	    snprintf(command, sizeof(command), "'%s' %s", path, option) >= (int)sizeof(command))
		return false;
	f = popen(command, "re");
	good = f && fgets(line, (int)size, f);
	if (f)
		pclose(f);
	if (good)
		line[strcspn(line, "\n")] = 0;
	return good;
}

static void check_versions(struct adv_doctor *d)
{
	char folder[PATH_MAX], daemon[PATH_MAX], said[128];
	struct utsname u;

	if (uname(&u) == 0)
		adv_doctor_report(d, ADV_GOOD, "versions", NULL,
				  "adverb " ADV_VERSION ", %s %s, %s", u.sysname, u.release,
				  u.machine);
	if (adv_cli_find_libraries(folder))
		adv_doctor_report(d, ADV_GOOD, "libraries", NULL, "in %s", folder);
	else
		adv_doctor_report(d, ADV_BAD, "libraries", "build Adverb, or install it again",
				  "not in %s", folder);
	if (adv_control_daemon_path(daemon) != 0 ||
	    !first_line(daemon, "--version", said, sizeof(said)))
		adv_doctor_report(
			d, ADV_BAD, "adverbd",
			"install Adverb again, or set ADVERB_DAEMON to the path of adverbd",
			"%s cannot be executed", daemon);
	else if (strcmp(said, "adverbd " ADV_VERSION) != 0)
		adv_doctor_report(d, ADV_BAD, "adverbd",
				  "use programs and libraries of one version; unset ADVERB_DAEMON",
				  "%s is '%s', and this is adverb " ADV_VERSION, daemon, said);
	else
		adv_doctor_report(d, ADV_GOOD, "adverbd", NULL, "%s", daemon);
}

static long read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static void check_limits(struct adv_doctor *d)
{
	long rmem = read_number("/proc/sys/net/core/rmem_max");
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		unsigned long slots = r.rlim_max > FILES_FOR_ALL_SLOTS ? 4094
				      : r.rlim_max > 192	       ? (r.rlim_max - 128) / 4
								       : 14;

		adv_doctor_report(d, slots < 64 ? ADV_SLOW : ADV_GOOD, "files",
				  slots < 64 ? "raise the hard limit: ulimit -Hn 16512" : NULL,
				  "hard limit of %lu open files: %lu programs at a time",
				  (unsigned long)r.rlim_max, slots);
	}
	if (rmem >= 0)
		adv_doctor_report(
			d, rmem < (long)BUFFER_WANTED ? ADV_SLOW : ADV_GOOD, "buffers",
			rmem < (long)BUFFER_WANTED
				? "as root: sysctl -w net.core.rmem_max=4194304, or run the "
				  "system's adverbd (adverbd.socket)"
				: NULL,
			"net.core.rmem_max is %ld: windows to other machines are up to that", rmem);
	if (getrlimit(RLIMIT_RTPRIO, &r) == 0)
		adv_doctor_report(d, ADV_GOOD, "priority", NULL,
				  r.rlim_max || geteuid() == 0
					  ? "adverbd may use a real-time priority"
					  : "adverbd has an ordinary priority (rtprio limit 0)");
}

static bool has_option(int fd, int option)
{
	int on = option == UDP_GRO;

	return setsockopt(fd, IPPROTO_UDP, option, &on, sizeof(on)) == 0;
}

static void check_kernel(struct adv_doctor *d)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};
	bool gso = fd >= 0 && has_option(fd, UDP_SEGMENT), gro = fd >= 0 && has_option(fd, UDP_GRO);
	long scope = read_number("/proc/sys/kernel/yama/ptrace_scope");

	if (fd >= 0)
		close(fd);
	adv_doctor_report(d, gso && gro ? ADV_GOOD : ADV_SLOW, "offloads",
			  gso && gro ? NULL : "use Linux 5.0 or later",
			  "UDP segmentation (GSO) %s, coalescing (GRO) %s", gso ? "yes" : "no",
			  gro ? "yes" : "no");
	if (adv_slice_granted())
		adv_doctor_report(d, ADV_GOOD, "slices", NULL,
				  "the kernel grants short time slices (sched_setattr)");
	else
		adv_doctor_report(d, ADV_SLOW, "slices", "use Linux 6.12 or later",
				  "the kernel grants no short time slices (sched_setattr): packets "
				  "wait longer on a busy machine");
	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1)
		adv_doctor_report(
			d, ADV_SLOW, "one copy",
			"permit the system call process_vm_readv(2) (containers: seccomp)",
			"process_vm_readv is refused: messages within this machine are copied "
			"twice");
	else if (scope > 1)
		adv_doctor_report(d, ADV_SLOW, "one copy",
				  "as root: sysctl -w kernel.yama.ptrace_scope=1",
				  "kernel.yama.ptrace_scope is %ld: messages within this machine "
				  "are copied twice",
				  scope);
	else
		adv_doctor_report(d, ADV_GOOD, "one copy", NULL,
				  "programs of one user copy from each other's memory");
}

void adv_doctor_check_machine(struct adv_doctor *d)
{
	check_versions(d);
	check_limits(d);
	check_kernel(d);
}
