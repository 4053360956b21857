/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pair 1 of the device (IBTA vol. 1, 13.5.1), on the socket of slot 0: management datagrams
 * in and out. One thread at a time; nothing blocks.
 */
#ifndef ADV_DAEMON_QP1_H
#define ADV_DAEMON_QP1_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "host/gid_table.h"
#include "link/fault_link.h"

#define ADV_QP1_BATCH 32

struct adv_qp1;

/* One MAD of ADV_CM_MAD_LEN bytes that came for QP 1 with its Q_Key; good during the call. */
typedef void adv_qp1_rx_fn(void *user, const struct adv_rx_meta *meta, const uint8_t *mad);

/*
 * On a copy of `socket`, which stays the caller's. *sender is set to the port from which it sends
 * within this machine, now and whenever that changes; what comes from this machine is taken from
 * there only. NULL and errno.
 */
struct adv_qp1 *adv_qp1_create(int socket, _Atomic uint16_t *sender);
void adv_qp1_destroy(struct adv_qp1 *q);

/* Our addresses: what is sent to another one is not for us. What waited to be sent is lost, as
 * packets may be. 0 or errno, with everything as it was. */
int adv_qp1_set_gids(struct adv_qp1 *q, const struct adv_gid_table *gids);

/* Takes about `budget` packets at most from the socket. Returns how many it took. */
unsigned adv_qp1_receive(struct adv_qp1 *q, unsigned budget, adv_qp1_rx_fn *fn, void *user);

/* A host says by ICMP that nobody listens where a MAD of ours went to, from sgid to dgid, and
 * quotes its first len bytes. Anybody may have made it up. */
typedef void adv_qp1_error_fn(void *user, const struct adv_gid *sgid, const struct adv_gid *dgid,
			      const uint8_t *mad, size_t len);

/* Readable where adv_qp1_errors() has something to take; of such messages about `budget` at most.
 */
int adv_qp1_error_fd(const struct adv_qp1 *q);
void adv_qp1_errors(struct adv_qp1 *q, unsigned budget, adv_qp1_error_fn *fn, void *user);

/* True where adv_qp1_send() takes something. */
bool adv_qp1_has_room(const struct adv_qp1 *q);

/* Sends at most ADV_QP1_BATCH MADs; there is room. */
void adv_qp1_send(struct adv_qp1 *q, const struct adv_cm_mad *mads, unsigned count);

/* Where there is no room: what to wait for to be writable. */
int adv_qp1_send_fd(const struct adv_qp1 *q);
/* It was writable. True where there is room now. */
bool adv_qp1_flush(struct adv_qp1 *q);

/* Faults on purpose: fn says what happens to each packet; NULL: nothing any more. What is kept then
 * goes on at once, what has come to the fn of the last adv_qp1_receive(). 0 or ENOMEM. */
int adv_qp1_set_faults(struct adv_qp1 *q, adv_fault_link_decide_fn *fn, void *user);

/* When adv_qp1_receive() has something to do for what is kept: nanoseconds of CLOCK_MONOTONIC;
 * UINT64_MAX: never. */
uint64_t adv_qp1_deadline(const struct adv_qp1 *q);

struct adv_qp1_counters {
	uint64_t rx; /* MADs handed on */
	uint64_t tx;
	uint64_t dropped; /* packets to slot 0 that were none */
};

const struct adv_qp1_counters *adv_qp1_counters(const struct adv_qp1 *q);

#endif
