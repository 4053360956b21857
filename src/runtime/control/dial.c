/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/control/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/sys.h"
#include "runtime/control/message.h"
#include "runtime/control/protocol.h"

static socklen_t daemon_address(struct sockaddr_un *a, bool system)
{
	int n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	if (system)
		n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "%s", ADV_CONTROL_NAME);
	else
		n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "%s-%u", ADV_CONTROL_NAME,
			     (unsigned)geteuid());
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Checks the user of the listening process. Any process can bind a name of the abstract namespace,
 * so only root and this user are trusted. 0 or errno, EPERM with a line in why[]. */
static int check_peer(int sock, bool system, char *why, size_t why_len)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (adv_sys_getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return errno;
	if (peer.uid == 0 || peer.uid == geteuid())
		return 0;
	if (system)
		snprintf(why, why_len,
			 "the name of the system's adverbd is taken by process %d of user %u, who "
			 "is not root: not trusted",
			 (int)peer.pid, (unsigned)peer.uid);
	else
		snprintf(why, why_len,
			 "the name of your adverbd is taken by process %d of user %u, who is "
			 "neither you nor root: not trusted; have that process ended",
			 (int)peer.pid, (unsigned)peer.uid);
	return EPERM;
}

int adv_control_dial(bool system, int *sock, char *why, size_t why_len)
{
	struct sockaddr_un a;
	socklen_t len = daemon_address(&a, system);
	int fd = adv_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0) {
		error = errno;
		snprintf(why, why_len, "cannot make a socket: errno %d", error);
		return error;
	}
	error = adv_sys_connect(fd, &a, len) < 0 ? errno : check_peer(fd, system, why, why_len);
	if (error)
		adv_control_close_fd(&fd);
	*sock = fd;
	return error;
}
