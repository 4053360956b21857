/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors in messages of Unix sockets: SCM_RIGHTS, unix(7). All I/O uses raw system calls.
 */
#ifndef ADV_BASE_RIGHTS_H
#define ADV_BASE_RIGHTS_H

#include <sys/socket.h>

/* Control data with room for one descriptor. */
union adv_rights_room {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

#define ADV_RIGHTS_SEVERAL 4

/* Control data with room for several descriptors. */
union adv_rights_room_several {
	char space[CMSG_SPACE(ADV_RIGHTS_SEVERAL * sizeof(int))];
	struct cmsghdr align;
};

/* Adds fd, which still belongs to the caller, to a message without control data. room (zeroed) must
 * exist until the message is sent. */
void adv_rights_put(struct msghdr *msg, union adv_rights_room *room, int fd);
/* As adv_rights_put(), for 1 to ADV_RIGHTS_SEVERAL descriptors. */
void adv_rights_put_several(struct msghdr *msg, union adv_rights_room_several *room, const int *fd,
			    unsigned count);

/* Returns the first descriptor of a received message, which then belongs to the caller, and closes
 * all others; -1: the message has none. */
int adv_rights_take(struct msghdr *msg);
/* As adv_rights_take(), but keeps the first `most` descriptors in fd[]; the rest of fd[] becomes
 * -1. Returns the number of those that it keeps. */
unsigned adv_rights_take_several(struct msghdr *msg, int *fd, unsigned most);

/* Closes all descriptors of a message. Does not block on a TCP socket with SO_LINGER. */
void adv_rights_close(struct msghdr *msg);

/*
 * Receives one message without blocking, and closes its descriptors: the protocol has none in this
 * direction. Returns the length of the message, 0 at the end of the stream, or -1 with errno:
 * EAGAIN: no message is queued; EMSGSIZE: the message was longer than len and is lost; EPIPE: any
 * other error.
 */
ssize_t adv_rights_receive_none(int fd, void *p, size_t len);

#endif
