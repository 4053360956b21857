/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MPA's start-up frames on a TCP socket. */
#ifndef ADV_RUNTIME_UCMA_MPA_SOCKET_H
#define ADV_RUNTIME_UCMA_MPA_SOCKET_H

#include "nic/iwarp/mpa.h"

/* The part of a frame that has arrived. All 0: none. */
struct adv_mpa_received {
	uint16_t have;
	uint8_t bytes[ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX];
};

/*
 * Receives a frame, and no byte behind it. As adv_mpa_decode(); with ADV_MPA_MORE, *error is 0 or
 * the errno of the connection's end (ECONNRESET: the peer has ended it). f->private_data points
 * into *r.
 */
enum adv_mpa_status adv_mpa_socket_receive(int fd, struct adv_mpa_received *r,
					   enum adv_mpa_kind kind, struct adv_mpa_frame *f,
					   int *error);

/* Sends a frame; a new connection has room for it. 0; EINVAL: the frame cannot be encoded;
 * ECONNABORTED: the connection has ended. */
int adv_mpa_socket_send(int fd, const struct adv_mpa_frame *f);

#endif
