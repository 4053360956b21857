/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/fabric_call.h"

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

static bool send_message(int sock, const struct adv_port_message *m, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec iov = {(void *)(uintptr_t)m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == sizeof(*m);
}

/* Returns 0 or errno. */
static int receive_message(int sock, struct adv_port_message *m, int fd[ADV_FABRIC_CALL_FDS])
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(ADV_FABRIC_CALL_FDS * sizeof(int))];
	} control;
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	for (unsigned i = 0; i < ADV_FABRIC_CALL_FDS; i++)
		fd[i] = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	m->text[sizeof(m->text) - 1] = 0;
	if (n < 0)
		return errno;
	return n == sizeof(*m) && m->version == ADV_PORT_VERSION ? (int)m->error : EPROTO;
}

static void explain(const char *who, int error, const char *text)
{
	if (error == ECONNREFUSED)
		fprintf(stderr, "%s: no fabric runs here; start one with adverb fabric up FILE\n",
			who);
	else if (*text)
		fprintf(stderr, "%s: %s\n", who, text);
	else
		fprintf(stderr, "%s: the emulator: %s\n", who, strerror(error));
}

bool adv_fabric_call(const char *who, struct adv_port_message *m, int send_fd,
		     int fd[ADV_FABRIC_CALL_FDS])
{
	int sock = adv_port_dial();
	int error = sock < 0 ? errno : 0;

	m->version = ADV_PORT_VERSION;
	if (!error && !send_message(sock, m, send_fd))
		error = errno;
	m->text[0] = 0;
	if (!error)
		error = receive_message(sock, m, fd);
	if (sock >= 0)
		close(sock);
	if (!error)
		return true;
	explain(who, error, m->text);
	return false;
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
static bool enter_namespaces(const int fd[ADV_FABRIC_CALL_FDS])
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

bool adv_fabric_enter(const char *who, const char *host)
{
	struct adv_port_message m = {.type = ADV_PORT_ENTER};
	int fd[ADV_FABRIC_CALL_FDS];
	bool good;

	if (strlen(host) >= sizeof(m.text)) {
		fprintf(stderr, "%s: --host: the name is too long\n", who);
		return false;
	}
	memcpy(m.text, host, strlen(host) + 1);
	if (!adv_fabric_call(who, &m, -1, fd))
		return false;
	good = fd[0] >= 0 && fd[1] >= 0 && enter_namespaces(fd);
	if (!good)
		fprintf(stderr, "%s: host %s cannot be entered: %s\n", who, host, strerror(errno));
	for (unsigned i = 0; i < ADV_FABRIC_CALL_FDS; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return good;
}
