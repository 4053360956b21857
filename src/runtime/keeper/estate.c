/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The estate's way from a worker to the keeper. */
#include "runtime/keeper/estate.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/rights.h"

#define GIVE_WAIT_MS 1000

int adv_estate_send_socket(const struct adv_daemon *d, int fd)
{
	union adv_rights_room room = {0};
	uint32_t place = d->sockets;
	struct iovec iov = {&place, sizeof(place)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct pollfd p = {.fd = d->keeper, .events = POLLOUT};

	if (d->keeper < 0)
		return 0;
	adv_rights_put(&msg, &room, fd);
	if (sendmsg(d->keeper, &msg, MSG_NOSIGNAL) >= 0)
		return 0;
	/* If hundreds of messages are queued, waits until the keeper has read some. */
	if (errno == EAGAIN && poll(&p, 1, GIVE_WAIT_MS) > 0 &&
	    sendmsg(d->keeper, &msg, MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EPIPE || errno == ECONNRESET ? 0 : errno;
}
