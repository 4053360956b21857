/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/rights.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

#define SCM_MOST 253 /* the kernel's limit of descriptors in one message */

static void put_rights(struct msghdr *msg, void *room, const int *fd, unsigned count)
{
	struct cmsghdr *c;

	msg->msg_control = room;
	msg->msg_controllen = CMSG_SPACE(count * sizeof(*fd));
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(*fd));
	memcpy(CMSG_DATA(c), fd, count * sizeof(*fd));
}

void adv_rights_put(struct msghdr *msg, union adv_rights_room *room, int fd)
{
	put_rights(msg, room, &fd, 1);
}

void adv_rights_put_several(struct msghdr *msg, union adv_rights_room_several *room, const int *fd,
			    unsigned count)
{
	put_rights(msg, room, fd, count);
}

static void close_descriptor(int fd)
{
	const struct linger at_once = {.l_onoff = 0};

	/* Without this, close(2) could block: the descriptor may be the last copy of a socket with
	 * SO_LINGER. */
	(void)adv_sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	adv_sys_close(fd);
}

unsigned adv_rights_take_several(struct msghdr *msg, int *fd, unsigned most)
{
	unsigned kept = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = 0;

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(one));
			if (kept < most)
				fd[kept++] = one;
			else
				close_descriptor(one);
		}
	}
	for (unsigned i = kept; i < most; i++)
		fd[i] = -1;
	return kept;
}

int adv_rights_take(struct msghdr *msg)
{
	int fd;

	(void)adv_rights_take_several(msg, &fd, 1);
	return fd;
}

void adv_rights_close(struct msghdr *msg)
{
	int first = adv_rights_take(msg);

	if (first >= 0)
		close_descriptor(first);
}

ssize_t adv_rights_receive_none(int fd, void *p, size_t len)
{
	char room[CMSG_SPACE(SCM_MOST * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = {p, len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	ssize_t n = adv_sys_recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0) {
		errno = errno == EAGAIN ? EAGAIN : EPIPE;
		return -1;
	}
	adv_rights_close(&msg);
	if (msg.msg_flags & MSG_TRUNC) {
		errno = EMSGSIZE;
		return -1;
	}
	return n;
}
