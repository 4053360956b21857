/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/link/bell.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/sys.h"

#define NAME_LEN 5
/* Queued rings that one call removes. The kernel queues 10, or net.unix.max_dgram_qlen. If more are
 * queued, the descriptor stays readable. */
#define RINGS_MAX 32

/* A name of the abstract namespace begins with a zero byte. */
static const socklen_t address_len = offsetof(struct sockaddr_un, sun_path) + 1 + NAME_LEN;

int adv_bell_open(adv_bell_name *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(a);
	int fd = adv_sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -1;
	if (adv_sys_bind(fd, &a, sizeof(a.sun_family)) == 0 &&
	    adv_sys_getsockname(fd, &a, &len) == 0) {
		*name = 0;
		memcpy(name, a.sun_path + 1, NAME_LEN);
		if (len == address_len)
			return fd;
		errno = EPROTO;
	}
	error = errno;
	adv_sys_close(fd);
	errno = error;
	return -1;
}

adv_bell_name adv_bell_name_of(int fd)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(a);
	adv_bell_name name = 0;

	if (adv_sys_getsockname(fd, &a, &len) == 0 && len == address_len)
		memcpy(&name, a.sun_path + 1, NAME_LEN);
	return name;
}

void adv_bell_ring(int own, adv_bell_name name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (!name)
		return;
	memcpy(a.sun_path + 1, &name, NAME_LEN);
	(void)adv_sys_sendto(own, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL, &a, address_len);
}

void adv_bell_still(int fd)
{
	for (unsigned i = 0; i < RINGS_MAX; i++)
		if (adv_sys_recvfrom(fd, NULL, 0, MSG_DONTWAIT | MSG_TRUNC, NULL, NULL) < 0)
			break;
}
