/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/control/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/rights.h"

void adv_control_message_init(struct adv_control_message *m, enum adv_control_type type,
			      uint32_t serial)
{
	memset(m, 0, sizeof(*m));
	m->magic = ADV_CONTROL_MAGIC;
	m->version = ADV_CONTROL_VERSION;
	m->type = (uint16_t)type;
	m->serial = serial;
}

int adv_control_message_send(int sock, const struct adv_control_message *m)
{
	struct iovec iov = {(void *)(uintptr_t)m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	do
		n = adv_sys_sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	return n == sizeof(*m) ? 0 : EPROTO;
}

int adv_control_message_receive(int sock, struct adv_control_message *m, int *fd)
{
	char room[CMSG_SPACE(4 * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	bool reset = false;
	ssize_t n;

	*fd = -1;
	do {
		n = adv_sys_recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		/* If adverbd closed its end before it read a request, recv() returns ECONNRESET
		 * once. A refusal may be queued nevertheless. */
		reset = n < 0 && errno == ECONNRESET && !reset;
	} while (n < 0 && (errno == EINTR || reset));
	if (n < 0)
		return errno == EAGAIN ? EAGAIN : ECONNRESET;
	*fd = adv_rights_take(&msg); /* an empty message may have a descriptor too */
	if (n == 0) {
		adv_control_close_fd(fd);
		return ECONNRESET;
	}
	if (n == sizeof(*m) && !(msg.msg_flags & MSG_TRUNC) && m->magic == ADV_CONTROL_MAGIC &&
	    (m->version == ADV_CONTROL_VERSION || m->type == ADV_CONTROL_REFUSED)) {
		if (m->type == ADV_CONTROL_REFUSED || m->result)
			m->body.text[ADV_CONTROL_TEXT_LEN - 1] = 0;
		return 0;
	}
	adv_control_close_fd(fd);
	return EPROTO;
}

void adv_control_message_explain(const struct adv_control_message *m, int error, char *why,
				 size_t why_len)
{
	if (error == ECONNRESET)
		snprintf(why, why_len, "adverbd closed the connection");
	else if (error == m->result && m->body.text[0])
		snprintf(why, why_len, "%s", m->body.text);
	else
		snprintf(why, why_len, "adverbd: %s", strerror(error));
}
