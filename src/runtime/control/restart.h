/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * After both processes of adverbd have died, one of its clients starts another adverbd from the
 * carrier, which all clients hold (runtime/keeper/carrier.h). This code decides whether this
 * process is that client, and when it starts adverbd. No function here blocks or starts a process.
 * The connection's lock protects the structure.
 */
#ifndef ADV_RUNTIME_CONTROL_RESTART_H
#define ADV_RUNTIME_CONTROL_RESTART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct adv_control_starter;

struct adv_control_restart {
	struct adv_control_starter *starter; /* NULL: this process cannot start adverbd */
	int carrier; /* -1: this process has none, and waits for no other adverbd */
	int lock;  /* socket with the name ADV_CONTROL_NAME_STARTING, which only the starting client
		      can hold; -1: not held */
	int said;  /* the started adverbd writes ADV_START_* here; -1: none */
	uid_t uid; /* of adverbd */
	int seccomp;
	bool unable;	  /* this process cannot start adverbd; another client may be able to */
	bool due;	  /* adverbd is to be started now */
	bool starting;	  /* a thread starts it */
	unsigned started; /* number of starts in the last minute */
	uint64_t since;	  /* time of the first of these starts, ms */
	uint64_t again;	  /* time of the next start, ms */
};

void adv_control_restart_init(struct adv_control_restart *r);

/* Keeps the carrier. From now on r owns the descriptor. */
void adv_control_restart_keep(struct adv_control_restart *r, int carrier);

/* Closes all descriptors. Async-signal-safe. */
void adv_control_restart_close(struct adv_control_restart *r);
/* Frees the memory that adv_control_restart_keep() allocated. */
void adv_control_restart_free(struct adv_control_restart *r);

/*
 * Decides whether this process starts adverbd now; then adv_control_restart_begin() returns the
 * carrier. Call it at `now`, ms, after each attempt to connect that found no listening process.
 * True if the caller should continue to wait for an adverbd.
 */
bool adv_control_restart_try(struct adv_control_restart *r, uint64_t now);

/* If adverbd is to be started now, returns a descriptor of the carrier, which the caller owns. The
 * caller then starts adverbd from it with r->starter, without the lock, and calls
 * adv_control_restart_end(). Otherwise returns -1. */
int adv_control_restart_begin(struct adv_control_restart *r);

/* Records the result of the start. If why is not NULL, the start failed for that reason. Otherwise
 * r owns the descriptor `said` from now on. */
void adv_control_restart_end(struct adv_control_restart *r, int said, const char *why);

/* Ends the restart: an adverbd listens again. */
void adv_control_restart_done(struct adv_control_restart *r);

#endif
