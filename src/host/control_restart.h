/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * After both processes of adverbd have died, one of its clients starts another adverbd from the
 * carrier, which all clients hold (daemon/carrier.h). Here a client decides whether it is the one,
 * and when. Nothing here blocks or starts a process. The connection's lock protects it.
 */
#ifndef ADV_HOST_CONTROL_RESTART_H
#define ADV_HOST_CONTROL_RESTART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct adv_control_starter;

struct adv_control_restart {
	struct adv_control_starter *starter; /* NULL: this process cannot start adverbd */
	int carrier; /* -1: this process holds none, and waits for no other adverbd */
	int lock;  /* a socket with the name that only one client can have, who starts; -1: another
		    * client may have it */
	int said;  /* the started adverbd writes here what becomes of it; -1 */
	uid_t uid; /* of adverbd */
	int seccomp;
	bool unable;	  /* to start one; another client may be able to */
	bool due;	  /* adverbd is to be started now */
	bool starting;	  /* a thread starts it */
	unsigned started; /* how many, in the last minute */
	uint64_t since;	  /* when the first of these was started, ms */
	uint64_t again;	  /* when to start another one, ms */
};

void adv_control_restart_init(struct adv_control_restart *r);

/* Takes the carrier's descriptor. */
void adv_control_restart_keep(struct adv_control_restart *r, int carrier);

/* Closes all descriptors; async-signal-safe. adv_control_restart_free() frees the memory. */
void adv_control_restart_close(struct adv_control_restart *r);
void adv_control_restart_free(struct adv_control_restart *r);

/*
 * Call it at `now`, ms, each time that no process listens for connections. May decide that this
 * process starts adverbd: see adv_control_restart_begin(). True if it is worth waiting for one.
 */
bool adv_control_restart_try(struct adv_control_restart *r, uint64_t now);

/* If adverbd is to be started now, returns a descriptor of the carrier, the caller's: start it from
 * that with r->starter, without the lock, then call adv_control_restart_end(). Else -1. */
int adv_control_restart_begin(struct adv_control_restart *r);

/* The start has failed for the reason in why, or why is NULL; then takes the descriptor `said`. */
void adv_control_restart_end(struct adv_control_restart *r, int said, const char *why);

/* A daemon listens again. */
void adv_control_restart_done(struct adv_control_restart *r);

#endif
