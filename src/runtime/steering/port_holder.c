/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/steering/port_holder.h"

#include <dirent.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/control/protocol.h"
#include "runtime/control/start.h"

#define NAME_LEN	48
#define STATE_CONNECTED 3 /* SS_CONNECTED, in /proc/net/unix */

bool adv_port_holder_parse(const char *line, uint16_t port, struct adv_port_holder *holder)
{
	unsigned local_port, uid;
	unsigned long inode;

	/* sl: local remote st tx:rx tr:when retrnsmt uid timeout inode */
	if (sscanf(line,
		   " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %*x %*x:%*x %*x:%*x %*x %u %*u %lu",
		   &local_port, &uid, &inode) != 3 ||
	    local_port != port)
		return false;
	holder->inode = inode;
	holder->uid = (uid_t)uid;
	return true;
}

static bool find_holder(uint16_t port, struct adv_port_holder *holder)
{
	static const char *const files[] = {"/proc/self/net/udp", "/proc/self/net/udp6"};
	char line[512];
	bool found = false;

	for (size_t i = 0; !found && i < ADV_ARRAY_SIZE(files); i++) {
		FILE *f = fopen(files[i], "re");

		while (f && !found && fgets(line, sizeof(line), f))
			found = adv_port_holder_parse(line, port, holder);
		if (f)
			fclose(f);
	}
	return found;
}

static bool process_has(const char *pid, unsigned long inode)
{
	char path[64], want[48], link[64];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	snprintf(path, sizeof(path), "/proc/%.10s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

		if (n > 0) {
			link[n] = 0;
			found = strcmp(link, want) == 0;
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Returns the process with a descriptor of that socket, if this process may read it; else 0. */
static int find_process(unsigned long inode, char comm[32])
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int pid = 0;

	while (proc && !pid && (e = readdir(proc))) {
		char path[64];
		FILE *f;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || !process_has(e->d_name, inode))
			continue;
		pid = atoi(e->d_name);
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		f = fopen(path, "re");
		if (!f || !fgets(comm, 32, f))
			snprintf(comm, 32, "?");
		if (f)
			fclose(f);
		comm[strcspn(comm, "\n")] = 0;
	}
	if (proc)
		closedir(proc);
	return pid;
}

/* Counts the sockets in this network namespace that have the abstract name. A listener's accepted
 * connections have its name, too; *connected counts these. */
static unsigned count_named(const char *wanted, unsigned *connected)
{
	FILE *f = fopen("/proc/self/net/unix", "re");
	unsigned found = 0, state;
	char line[512];

	*connected = 0;
	while (f && fgets(line, sizeof(line), f)) {
		const char *name = strrchr(line, ' ');

		line[strcspn(line, "\n")] = 0;
		if (!name || name[1] != '@' || strcmp(name + 2, wanted) != 0)
			continue;
		found++;
		/* Num: RefCount Protocol Flags Type St Inode Path */
		if (sscanf(line, "%*s %*x %*x %*x %*x %x", &state) == 1 && state == STATE_CONNECTED)
			++*connected;
	}
	if (f)
		fclose(f);
	return found;
}

static bool is_named(const char *wanted)
{
	unsigned connected;

	return count_named(wanted, &connected) > 0;
}

static void write_daemon_name(uid_t uid, const char *suffix, char name[NAME_LEN])
{
	snprintf(name, NAME_LEN, ADV_CONTROL_NAME "-%u%s", (unsigned)uid, suffix);
}

/* True if a daemon of this user or the system's daemon runs: its abstract name is bound. */
static bool daemon_runs(uid_t uid)
{
	char own[NAME_LEN];

	write_daemon_name(uid, "", own);
	return is_named(own) || is_named(ADV_CONTROL_NAME);
}

bool adv_port_holder_hinders(uint16_t port)
{
	struct adv_port_holder h;
	char estate[NAME_LEN];

	write_daemon_name(geteuid(), ADV_CONTROL_NAME_ESTATE, estate);
	/* With the name `estate`, clients of an earlier daemon of this user hold the port for the
	 * next daemon. */
	return find_holder(port, &h) && !is_named(estate);
}

bool adv_port_holder_is_idle(uint16_t port)
{
	struct adv_port_holder h;
	unsigned connected;
	char own[NAME_LEN];

	if (!find_holder(port, &h) || h.inode == 0 || h.uid == geteuid())
		return false;
	write_daemon_name(h.uid, "", own);
	return count_named(own, &connected) > 0 && connected == 0;
}

/* True if this user started the program by sudo. */
static bool by_sudo_of(uid_t uid)
{
	const char *text = getenv("SUDO_UID");
	char *end;

	return geteuid() == 0 && text && *text && strtoul(text, &end, 10) == uid && !*end;
}

static void user_name(uid_t uid, char *name, size_t len)
{
	struct passwd *p = getpwuid(uid);

	if (p)
		snprintf(name, len, "%s", p->pw_name);
	else
		snprintf(name, len, "%u", (unsigned)uid);
}

void adv_port_holder_describe(uint16_t port, char *why, size_t why_len)
{
	struct adv_port_holder h;
	char comm[32] = "", user[64], daemon[PATH_MAX];
	int pid;

	if (!find_holder(port, &h)) {
		snprintf(why, why_len,
			 "UDP port %u is in use by a process that is not visible from here",
			 (unsigned)port);
		return;
	}
	if (h.inode == 0) {
		snprintf(why, why_len,
			 "UDP port %u is in use by the kernel's own RoCE driver (rdma_rxe): remove "
			 "its devices (rdma link; rdma link delete NAME), or use another network "
			 "namespace",
			 (unsigned)port);
		return;
	}
	user_name(h.uid, user, sizeof(user));
	pid = find_process(h.inode, comm);
	if (h.uid != geteuid() &&
	    (strncmp(comm, "adverbd", 7) == 0 || (!pid && daemon_runs(h.uid))))
		snprintf(why, why_len,
			 "UDP port %u is in use by the adverbd of user %s, which serves no other "
			 "user%s: %srun the system service instead, which serves all (as root: "
			 "systemctl enable --now adverbd.socket, or %s --system), or use a network "
			 "namespace of your own (unshare -Urn)",
			 (unsigned)port, user, geteuid() == 0 ? ", root included" : "",
			 by_sudo_of(h.uid) ? "leave out sudo, or " : "",
			 adv_control_daemon_path(daemon) == 0 ? daemon : "adverbd");
	else if (pid)
		snprintf(why, why_len,
			 "UDP port %u is in use by %s (process %d of user %s): RoCE v2 needs that "
			 "port; end that process, or use another network namespace",
			 (unsigned)port, comm, pid, user);
	else
		snprintf(why, why_len,
			 "UDP port %u is in use by a process of user %s: RoCE v2 needs that port; "
			 "end that process, or use another network namespace",
			 (unsigned)port, user);
}
