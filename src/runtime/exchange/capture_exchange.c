/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answering side of the exchange about captures. */
#include "runtime/exchange/capture_exchange.h"

#include <errno.h>
#include <string.h>

#include "base/rights.h"
#include "base/sys.h"

bool adv_capture_is_asked(int fd)
{
	uint32_t magic;
	ssize_t n =
		adv_sys_recvfrom(fd, &magic, sizeof(magic), MSG_PEEK | MSG_DONTWAIT, NULL, NULL);

	return n == sizeof(magic) && magic == ADV_CAPTURE_MAGIC;
}

/* Returns the granted size of a ring. 0: the wish is none. */
static uint32_t size_for(uint32_t wish, uint32_t most)
{
	if (!adv_tap_size_fits(wish))
		return 0;
	return wish < most ? wish : most;
}

bool adv_capture_read(int fd, struct adv_capture_message *m)
{
	return adv_rights_receive_none(fd, m, sizeof(*m)) == (ssize_t)sizeof(*m) &&
	       m->magic == ADV_CAPTURE_MAGIC && m->version == ADV_CAPTURE_VERSION;
}

int adv_capture_send(int fd, const struct adv_capture_message *m, int memory_fd)
{
	struct iovec iov = {(void *)m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union adv_rights_room room;

	memset(&room, 0, sizeof(room));
	if (memory_fd >= 0)
		adv_rights_put(&msg, &room, memory_fd);
	return adv_sys_sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

bool adv_capture_answer(int fd, struct adv_tap taps[ADV_CAPTURE_PLACES], uint32_t slot,
			uint32_t most)
{
	struct adv_capture_message m;
	int memory_fd = -1;

	if (!adv_capture_read(fd, &m))
		return false;
	m.size = size_for(m.size, most);
	m.slot = slot;
	if (m.place < ADV_CAPTURE_PLACES)
		m.result = adv_tap_attach(&taps[m.place], m.size, m.limit, fd, &memory_fd);
	else
		m.result = EINVAL;
	/* If this fails, the tool has ended, or it waits in vain and ends. The tap finds that. */
	(void)adv_capture_send(fd, &m, memory_fd);
	if (memory_fd >= 0)
		adv_sys_close(memory_fd);
	return m.result == 0;
}
