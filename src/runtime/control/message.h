/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends and receives one message of the control protocol on a process's socket to adverbd. No
 * function here blocks. */
#ifndef ADV_RUNTIME_CONTROL_MESSAGE_H
#define ADV_RUNTIME_CONTROL_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"
#include "runtime/control/protocol.h"

/* If *fd is a descriptor, sets *fd to -1 and closes the descriptor, in this order: a child of a
 * fork() in between must not close another descriptor that has got the same number. */
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

/* Sends m. 0, or errno: EAGAIN: the socket is full; EPIPE: adverbd has closed its end. */
int adv_control_message_send(int sock, const struct adv_control_message *m);

/*
 * Receives one message. *fd is the descriptor that came with the message, which the caller then
 * owns, or -1. 0; EAGAIN: no message is queued; ECONNRESET: adverbd has closed its end; EPROTO: the
 * message is not of this protocol.
 */
int adv_control_message_receive(int sock, struct adv_control_message *m, int *fd);

/* Writes into why[] one line that explains why a request failed with `error`. m: the answer to the
 * request. */
void adv_control_message_explain(const struct adv_control_message *m, int error, char *why,
				 size_t why_len);

#endif
