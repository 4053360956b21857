/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The structure of a connection to adverbd, which the files of the control protocol's client share.
 */
#ifndef ADV_RUNTIME_CONTROL_INTERNAL_H
#define ADV_RUNTIME_CONTROL_INTERNAL_H

#include <pthread.h>

#include "runtime/control/change.h"
#include "runtime/control/control.h"
#include "runtime/control/message.h"
#include "runtime/control/restart.h"

#define ADV_CONTROL_ANSWER_WAIT_MS 15000
#define ADV_CONTROL_RETRY_MS	   20
#define ADV_CONTROL_PAGE_LEN	   (ADV_COUNTERS * sizeof(uint64_t))
#define ADV_CONTROL_SLOTS	   16 /* most slots of one connection */
#define ADV_CONTROL_FAULTS	   4  /* unread requests about faults; others are closed */

enum adv_control_state {
	CONTROL_LIVE,
	CONTROL_RETRYING, /* no socket; the next attempt to connect is made when the timer expires
			   */
	CONTROL_RESUMING, /* connected again; HELLO and RESUME are not answered yet */
	CONTROL_GONE,	  /* for good */
};

/* A slot of this connection. */
struct adv_control_slot {
	uint32_t number;
	uint8_t token[ADV_CONTROL_TOKEN_LEN];
	uint64_t *page; /* page of the slot's counters, or NULL */
};

/* The descriptor `epoll` watches `sock`, `wake` and `timer`. The caller polls `epoll`. */
struct adv_control {
	pthread_mutex_t lock; /* protects all members; held for microseconds, never during a wait */
	struct adv_change answers; /* changes when an awaited request is answered */
	bool attended;		   /* see adv_control_attend() */
	int epoll;
	int sock; /* -1: no socket at present */
	int wake; /* eventfd, readable while adv_control_read() has something to return */
	int timer;
	enum adv_control_state state;
	uint32_t pending; /* received bits ADV_CONTROL_NOTICE_* that were not returned yet */
	uint32_t serial;
	uint32_t awaited; /* in RESUMING: number of outstanding answers */
	uint64_t deadline_ms;
	bool system;
	uint8_t instance[ADV_CONTROL_TOKEN_LEN];
	const struct adv_gid_page *page;
	struct adv_control_queue queue;
	unsigned slot_count;
	struct adv_control_slot slot[ADV_CONTROL_SLOTS];
	struct adv_control_restart restart;
	unsigned fault_count;
	int fault[ADV_CONTROL_FAULTS]; /* sockets for adv_control_take_fault() */
};

/* Returns a new connection without a socket; NULL with errno. */
struct adv_control *adv_control_new(void);

/* The functions below are called with the connection's lock held, unless their comment says
 * otherwise. */

/* Adds a descriptor to epoll. 0 or errno. */
int adv_control_watch(struct adv_control *c, int fd);
/* Closes the socket and removes it from epoll. */
void adv_control_hang_up(struct adv_control *c);
/* Sets the timer to expire in `ms` ms; 0 stops it. */
void adv_control_set_timer(struct adv_control *c, uint64_t ms);
/* Makes adv_control_fd() readable. */
void adv_control_wake(struct adv_control *c);
/* Adds bits ADV_CONTROL_NOTICE_* for adv_control_read(). */
void adv_control_put_notice(struct adv_control *c, uint32_t what);
/* Returns the slot with this number; NULL: the connection has no such slot. */
struct adv_control_slot *adv_control_find_slot(struct adv_control *c, uint32_t number);

/* reconnect.c: handles the end of the socket, which adverbd has closed. Connects again. */
void adv_control_lost(struct adv_control *c);
/* Handles an answer in state RESUMING. */
void adv_control_resumed(struct adv_control *c, const struct adv_control_message *m, int fd);
/* Handles the timer if it has expired. */
void adv_control_timer(struct adv_control *c);
/* Ends the connection for good and logs `because`. All requests fail with ECONNRESET. */
void adv_control_give_up(struct adv_control *c, const char *because);

/*
 * exchange.c. Call it without the lock. Sends a request and blocks until its
 * answer, which replaces the request in *m. *fd is the descriptor that came with the answer, owned
 * by the caller, or -1. Returns the answer's result, or errno if no answer arrived: ECONNRESET:
 * adverbd ended; ETIMEDOUT: adverbd does not answer; EPROTO; ENOMEM.
 */
int adv_control_ask(struct adv_control *c, struct adv_control_message *m, int *fd);

#endif
