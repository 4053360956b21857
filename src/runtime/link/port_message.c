/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages between an emulator and its programs and tools. */
#include <errno.h>

#include "base/rights.h"
#include "base/sys.h"
#include "runtime/link/port.h"

int adv_port_send(int sock, struct adv_port_message *m, const int *fd, unsigned count)
{
	union adv_rights_room_several room = {{0}};
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	m->version = ADV_PORT_VERSION;
	if (count)
		adv_rights_put_several(&msg, &room, fd, count);
	n = adv_sys_sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n == sizeof(*m) ? 0 : n < 0 ? errno : EIO;
}

int adv_port_receive(int sock, struct adv_port_message *m, int *fd, unsigned most, bool wait)
{
	union adv_rights_room_several room;
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &room,
			     .msg_controllen = sizeof(room)};
	ssize_t n = adv_sys_recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));

	for (unsigned i = 0; i < most; i++)
		fd[i] = -1;
	if (n < 0)
		return errno;
	if (n != sizeof(*m) || m->version != ADV_PORT_VERSION ||
	    msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) {
		adv_rights_close(&msg);
		return EPROTO;
	}
	(void)adv_rights_take_several(&msg, fd, most);
	m->text[sizeof(m->text) - 1] = 0;
	return 0;
}
