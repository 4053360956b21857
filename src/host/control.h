/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process's side of the control protocol with adverbd. The messages themselves are in
 * host/control_protocol.h, which the daemon includes too.
 */
#ifndef ADV_HOST_CONTROL_H
#define ADV_HOST_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "host/gid_table.h"

struct adv_control; /* one connection */

/*
 * Connects to the daemon of this network namespace: the system one, else the user's own, which
 * is started first where `start` says so and none runs. NULL: errno, and one line in why[] a
 * person can act on. Uses raw system calls for all socket I/O.
 */
struct adv_control *adv_control_connect(bool start, char *why, size_t why_len);
void adv_control_close(struct adv_control *c);

/* The connection's descriptor, to be polled for readability: adv_control_read() then. */
int adv_control_fd(const struct adv_control *c);

/* The shared GID table, mapped read-only; lives as long as the connection. */
const struct adv_gid_table *adv_control_gids(const struct adv_control *c);

struct adv_slot {
	int receive_fd;	    /* the caller's from now on */
	uint32_t qpn_first; /* 24-bit; a slot's are contiguous */
	uint32_t qpn_count;
};

/* Asks for a slot, drained and ours alone until the connection ends. 0, or errno: EAGAIN all in
 * use, ECONNRESET the daemon went away, with a line in why[]. */
int adv_control_open_slot(struct adv_control *c, struct adv_slot *slot, char *why, size_t why_len);

enum adv_control_notice {
	ADV_NOTICE_NONE,	 /* nothing (more) to read */
	ADV_NOTICE_GIDS_CHANGED, /* the table has new contents */
	ADV_NOTICE_PORT_CHANGED, /* port_active differs */
	ADV_NOTICE_GONE,	 /* the daemon went away for good; slots stay usable as long as sockets do */
};

/* Reads one notice without blocking. A daemon that restarted is reconnected to by itself. */
enum adv_control_notice adv_control_read(struct adv_control *c);

#endif
