/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pair 1 of the device (IBTA 13.5.1), on the socket of slot 0: it receives and sends
 * management datagrams (MADs). Only one thread at a time may call these functions. No function
 * blocks.
 */
#ifndef ADV_RUNTIME_UCMA_QP1_H
#define ADV_RUNTIME_UCMA_QP1_H

#include <stdbool.h>
#include <stdint.h>

#include "nic/cm/cm.h"
#include "runtime/control/gid_table.h"
#include "runtime/link/fault_link.h"

#define ADV_QP1_BATCH 32

struct adv_qp1;

/* Handles one received MAD of ADV_CM_MAD_LEN bytes with QP1's Q_Key. `mad` is valid during the
 * call. */
typedef void adv_qp1_rx_fn(void *user, const struct adv_rx_meta *meta, const uint8_t *mad);

/*
 * Creates QP1 on a copy of `socket`; the caller still owns `socket`. QP1 sets *sender to the UDP
 * port from which it sends within this machine, now and at each change. It accepts packets of this
 * machine from that port only. NULL and errno.
 */
struct adv_qp1 *adv_qp1_create(int socket, _Atomic uint16_t *sender);
void adv_qp1_destroy(struct adv_qp1 *q);

/* Sets the machine's addresses: QP1 does not accept packets to other addresses. Unsent MADs are
 * lost. Returns 0, or errno and changes nothing. */
int adv_qp1_set_gids(struct adv_qp1 *q, const struct adv_gid_table *gids);

/* Receives about `budget` packets at most. Returns their number. */
unsigned adv_qp1_receive(struct adv_qp1 *q, unsigned budget, adv_qp1_rx_fn *fn, void *user);

/* Lets QP1 send and receive RoCE v1 frames, too. On an emulated host its port carries them anyway.
 * 0 or errno: EPERM: adverbd lacks CAP_NET_RAW. */
int adv_qp1_start_v1(struct adv_qp1 *q);
/* Returns a descriptor that is readable when frames are queued for adv_qp1_receive(); -1: QP1 has
 * no packet socket. */
int adv_qp1_v1_fd(const struct adv_qp1 *q);
/* True if MADs of the path need path->dmac. */
bool adv_qp1_needs_mac(const struct adv_qp1 *q, const struct adv_path *path);

/* On an emulated host (runtime/link/port.h): a descriptor that is readable when packets have come
 * from the fabric; else -1. */
int adv_qp1_bell_fd(const struct adv_qp1 *q);
/* Call it when that descriptor is readable, before adv_qp1_receive(). */
void adv_qp1_still(struct adv_qp1 *q);

/* Handles an ICMP port unreachable for a MAD from sgid to dgid. The ICMP message quotes the first
 * `len` bytes of the MAD. It may be forged. */
typedef void adv_qp1_error_fn(void *user, const struct adv_gid *sgid, const struct adv_gid *dgid,
			      const uint8_t *mad, size_t len);

/* Returns a descriptor that is readable if adv_qp1_errors() has messages to handle. */
int adv_qp1_error_fd(const struct adv_qp1 *q);
/* Handles about `budget` ICMP messages at most. */
void adv_qp1_errors(struct adv_qp1 *q, unsigned budget, adv_qp1_error_fn *fn, void *user);

/* True if adv_qp1_send() accepts MADs. */
bool adv_qp1_has_room(const struct adv_qp1 *q);

/* Sends at most ADV_QP1_BATCH MADs. The caller has checked adv_qp1_has_room(). */
void adv_qp1_send(struct adv_qp1 *q, const struct adv_cm_mad *mads, unsigned count);

/* Returns the descriptor that becomes writable when adv_qp1_send() can accept MADs again. */
int adv_qp1_send_fd(const struct adv_qp1 *q);
/* Call it when the descriptor is writable. True if there is room now. */
bool adv_qp1_flush(struct adv_qp1 *q);

/* Injects faults: fn decides about each packet. If fn is NULL, the faults end, and delayed packets
 * continue at once: outgoing packets are sent, received packets go to the fn of the last
 * adv_qp1_receive(). 0 or ENOMEM. */
int adv_qp1_set_faults(struct adv_qp1 *q, adv_fault_link_decide_fn *fn, void *user);

/* Answers the request of `adverb capture` that is queued in fd
 * (runtime/exchange/capture_exchange.h). Returns true if a capture has begun: QP1 owns fd now, and
 * ends the capture with its tool. */
bool adv_qp1_capture(struct adv_qp1 *q, int fd);

/* Returns the time at which adv_qp1_receive() has to be called for a delayed packet, in nanoseconds
 * of CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t adv_qp1_deadline(const struct adv_qp1 *q);

struct adv_qp1_counters {
	uint64_t rx; /* delivered MADs */
	uint64_t tx;
	uint64_t dropped;  /* packets to slot 0 that were not for QP1, or of another partition */
	uint64_t bad_pkey; /* of those, MADs of another partition */
};

const struct adv_qp1_counters *adv_qp1_counters(const struct adv_qp1 *q);

#endif
