/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One message of the control protocol on a process's socket to adverbd. Nothing here blocks. */
#ifndef ADV_HOST_CONTROL_MESSAGE_H
#define ADV_HOST_CONTROL_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"
#include "host/control_protocol.h"

/* Closes *fd if it is a descriptor, and sets it to -1. It is -1 before it is closed: a child of a
 * fork() meanwhile must not close another descriptor that has got the same number. */
static inline void adv_control_close_fd(int *fd)
{
	int old = *fd;

	*fd = -1;
	if (old >= 0)
		adv_sys_close(old);
}

/* Makes m an empty message of this type. */
void adv_control_message_init(struct adv_control_message *m, enum adv_control_type type,
			      uint32_t serial);

/* 0 or errno: EAGAIN the socket is full, EPIPE adverbd has closed its end. */
int adv_control_message_send(int sock, const struct adv_control_message *m);

/*
 * Receives one message. *fd is the descriptor that came with it, which the caller then owns, or
 * -1. 0; EAGAIN: no message is queued; ECONNRESET: adverbd has closed its end; EPROTO: the message
 * is not of this protocol.
 */
int adv_control_message_receive(int sock, struct adv_control_message *m, int *fd);

/* Writes one line for a person: why a request failed with `error`. m: its answer. */
void adv_control_message_explain(const struct adv_control_message *m, int error, char *why,
				 size_t why_len);

#endif
