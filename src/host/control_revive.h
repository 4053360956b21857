/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client whose daemon has died with all its processes starts another one, which goes on with the
 * sockets that all clients keep (daemon/carrier.h). Of several clients one does it, and the others
 * wait. Nothing here blocks. For a connection of the control protocol, under its lock.
 */
#ifndef ADV_HOST_CONTROL_REVIVE_H
#define ADV_HOST_CONTROL_REVIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct adv_heir;

struct adv_revival {
	struct adv_heir *heir; /* NULL: none can be started */
	int estate;	       /* the carrier; -1: we have none, and wait for nobody */
	int lock;	       /* has the name of who is starting one; -1: we are not */
	int said;	       /* where the daemon that we started says what became of it; -1 */
	uid_t uid;	       /* of the daemon */
	int seccomp;
	bool unable;	  /* to start one; another client may */
	unsigned started; /* of late */
	uint64_t since;	  /* when the first of these was, in ms */
	uint64_t again;	  /* when to try again, in ms */
};

/* Empty. */
void adv_revival_init(struct adv_revival *r);

/* Takes over the carrier's descriptor. */
void adv_revival_keep(struct adv_revival *r, int estate);

/* Closes all; async-signal-safe. Memory is left to adv_revival_free(). */
void adv_revival_close(struct adv_revival *r);
void adv_revival_free(struct adv_revival *r);

/*
 * Nobody listens at `now`, in ms: a daemon is started, or it is seen that somebody does so. True
 * where it is worth waiting for one; to be called again while nobody listens.
 */
bool adv_revival_try(struct adv_revival *r, uint64_t now);

/* A daemon listens again. */
void adv_revival_done(struct adv_revival *r);

#endif
