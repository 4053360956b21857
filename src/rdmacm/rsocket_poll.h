/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conversion of descriptor sets for rselect(). Plain functions. */
#ifndef ADV_RDMACM_RSOCKET_POLL_H
#define ADV_RDMACM_RSOCKET_POLL_H

#include <poll.h>
#include <sys/select.h>

/* Fills fds with the descriptors below n that the sets contain. fds has room for n entries. Returns
 * the number of entries. */
int adv_rs_sets_to_poll(struct pollfd *fds, int n, const fd_set *readfds, const fd_set *writefds,
			const fd_set *exceptfds);

/*
 * Reduces the sets to the members that have the requested events. Any set may be NULL. Returns the
 * number of members left; or -1 if a descriptor was not open.
 */
int adv_rs_poll_to_sets(const struct pollfd *fds, int count, fd_set *readfds, fd_set *writefds,
			fd_set *exceptfds, int n);

#endif
