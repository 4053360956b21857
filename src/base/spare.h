/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Accepts connections also if no descriptor is free. Otherwise the connection would stay in the
 * queue of the listening socket, which would stay readable: its loop would spin, and the peer would
 * wait.
 */
#ifndef ADV_BASE_SPARE_H
#define ADV_BASE_SPARE_H

/* A descriptor in reserve. If no other one is free, it is closed for a moment. */
struct adv_spare {
	int fd;
};

/* 0 or errno. */
int adv_spare_open(struct adv_spare *s);
/* Also after a failed adv_spare_open(). */
void adv_spare_close(struct adv_spare *s);

/* Accepts a connection, which does not block. Returns its descriptor, or -1 with errno. EMFILE,
 * ENFILE: no descriptor is free, and the oldest connection was closed, so that the peer gets an
 * error at once. EAGAIN: there is none. */
int adv_spare_accept(struct adv_spare *s, int listener);

#endif
