/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors that go along with messages of Unix sockets: SCM_RIGHTS, unix(7). All I/O is raw
 * system calls.
 */
#ifndef ADV_BASE_RIGHTS_H
#define ADV_BASE_RIGHTS_H

#include <sys/socket.h>

/* Room for one, in a message to be sent. */
union adv_rights_room {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* Lets fd, which stays the caller's, go along with a message that has no control data yet. room
 * (zeroed) lives until it is sent. */
void adv_rights_put(struct msghdr *msg, union adv_rights_room *room, int fd);

/* The first that came along with a message received, the caller's, every other one closed; -1:
 * there was none. */
int adv_rights_take(struct msghdr *msg);

/* Closes all that came along. A TCP socket that lingers does not hold us up by that. */
void adv_rights_close(struct msghdr *msg);

/*
 * One message without waiting; whatever came along is closed, as nobody needs to send any. The
 * length, 0 at the end; -1 with errno EAGAIN: nothing is there; EMSGSIZE: it is longer than len,
 * and gone; EPIPE: any other error.
 */
ssize_t adv_rights_receive_none(int fd, void *p, size_t len);

#endif
