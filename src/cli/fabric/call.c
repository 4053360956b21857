/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/fabric/call.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void explain_error(const char *who, int error, const char *text)
{
	if (error == ECONNREFUSED)
		fprintf(stderr, "%s: no fabric runs here; start one with adverb fabric up FILE\n",
			who);
	else if (*text)
		fprintf(stderr, "%s: %s\n", who, text);
	else
		fprintf(stderr, "%s: the emulator: %s\n", who, strerror(error));
}

int adv_call_begin(const char *who, struct adv_port_message *m, int send_fd, int fd[ADV_CALL_FDS])
{
	int sock = adv_port_dial();
	int error = sock < 0 ? errno : 0;

	if (!error)
		error = adv_port_send(sock, m, &send_fd, send_fd >= 0);
	m->text[0] = 0;
	if (!error)
		error = adv_port_receive(sock, m, fd, ADV_CALL_FDS, true);
	if (!error)
		error = (int)m->error;
	if (!error)
		return sock;
	if (sock >= 0)
		close(sock);
	explain_error(who, error, m->text);
	return -1;
}

bool adv_call_fabric(const char *who, struct adv_port_message *m, int send_fd, int fd[ADV_CALL_FDS])
{
	int sock = adv_call_begin(who, m, send_fd, fd);

	if (sock >= 0)
		close(sock);
	return sock >= 0;
}

bool adv_call_change_cable(const char *who, const char *cable, const char *what)
{
	struct adv_port_message m = {.type = ADV_PORT_CABLE};
	int fd[ADV_CALL_FDS];

	if (snprintf(m.text, sizeof(m.text), "%s %s", cable, what) >= (int)sizeof(m.text)) {
		fprintf(stderr, "%s: the name of the cable is too long\n", who);
		return false;
	}
	return adv_call_fabric(who, &m, -1, fd);
}

/* ---- entering a host ---- */

static bool is_own_namespace(int fd, const char *path)
{
	struct stat there, here;

	return fstat(fd, &there) == 0 && stat(path, &here) == 0 && there.st_ino == here.st_ino &&
	       there.st_dev == here.st_dev;
}

/*
 * Keeps CAP_SYS_ADMIN in the user namespace of the fabric over execve(2), so that a program may
 * start others on further hosts: as mpirun does. The capability has no effect outside of that
 * namespace.
 */
static void keep_capability(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		return;
	data[CAP_TO_INDEX(CAP_SYS_ADMIN)].inheritable |= CAP_TO_MASK(CAP_SYS_ADMIN);
	if (syscall(SYS_capset, &header, data) == 0)
		(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0);
}

/* fd: network, host name, and maybe user namespace. */
static bool enter_namespaces(const int fd[ADV_CALL_FDS])
{
	if (fd[2] >= 0 && !is_own_namespace(fd[2], "/proc/self/ns/user")) {
		if (setns(fd[2], CLONE_NEWUSER) < 0)
			return false;
	}
	if (setns(fd[0], CLONE_NEWNET) < 0 || setns(fd[1], CLONE_NEWUTS) < 0)
		return false;
	if (fd[2] >= 0)
		keep_capability();
	return true;
}

bool adv_call_enter_host(const char *who, const char *host)
{
	struct adv_port_message m = {.type = ADV_PORT_ENTER};
	int fd[ADV_CALL_FDS];
	bool good;

	if (strlen(host) >= sizeof(m.text)) {
		fprintf(stderr, "%s: --host: the name is too long\n", who);
		return false;
	}
	memcpy(m.text, host, strlen(host) + 1);
	if (!adv_call_fabric(who, &m, -1, fd))
		return false;
	good = fd[0] >= 0 && fd[1] >= 0 && enter_namespaces(fd);
	if (!good)
		fprintf(stderr, "%s: host %s cannot be entered: %s\n", who, host, strerror(errno));
	for (unsigned i = 0; i < ADV_CALL_FDS; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return good;
}
