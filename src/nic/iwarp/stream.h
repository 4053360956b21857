/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMAP streams: a queue pair over one TCP connection, after the start-up frames (RFC 5040, 5041).
 * Like the engine, a stream makes no system call and has no lock; it is used under the engine's
 * lock.
 *
 * The caller moves bytes between the stream and the connection:
 *	adv_rdmap_tx(), adv_rdmap_sent()     bytes that the connection can take
 *	adv_rdmap_rx()                       bytes that the connection has delivered
 *	adv_rdmap_rx_room(), _rx_placed()    the same without a copy, while payload arrives
 *	adv_rdmap_ended()                    the connection has ended
 *
 * What differs from RoCE, for a program:
 * - SENDs and WRITEs complete when the connection has taken their bytes, not when the peer has
 *   them. A later error of theirs ends the connection, and completes no request.
 * - A SEND that finds no receive request ends the connection: there is no RNR NAK.
 * - Immediate data and atomics do not exist; requests for them fail.
 */
#ifndef ADV_NIC_IWARP_STREAM_H
#define ADV_NIC_IWARP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

#include "nic/iwarp/agreement.h"
#include "nic/engine/engine.h"

enum adv_rdmap_phase {
	ADV_RDMAP_OPEN,
	ADV_RDMAP_ENDING, /* an error was found: the caller sends what adv_rdmap_tx() still returns
			     (a Terminate), then closes the connection */
	ADV_RDMAP_ENDED,  /* the caller closes the connection */
};

struct adv_rdmap_stream;

/* Makes the stream of a queue pair that is in RTS when the stream is used. NULL: ENOMEM. */
struct adv_rdmap_stream *adv_rdmap_stream_create(struct adv_qp *qp,
						 const struct adv_rdmap_config *config);
/* Frees the stream. The queue pair must still exist. */
void adv_rdmap_stream_destroy(struct adv_rdmap_stream *s);
enum adv_rdmap_phase adv_rdmap_phase(const struct adv_rdmap_stream *s);
/* Sets and returns the pointer by which the caller finds its own record of the stream. It is NULL
 * at first. */
void adv_rdmap_set_owner(struct adv_rdmap_stream *s, void *owner);
void *adv_rdmap_owner(const struct adv_rdmap_stream *s);

/*
 * True if the stream is a responder that has sent nothing, and whose initiator has neither sent
 * something nor offered to begin.
 */
bool adv_rdmap_hopes(const struct adv_rdmap_stream *s);
/*
 * While adv_rdmap_hopes(), the caller looks whether the peer's TCP has acknowledged the start-up
 * reply, in front of each adv_rdmap_tx(), and tells the result. If a look has found the reply under
 * way, the stream begins a whole wait at the first look that finds it acknowledged.
 */
void adv_rdmap_reply_seen(struct adv_rdmap_stream *s, uint64_t now, bool acknowledged);
/* True if adv_rdmap_hopes(), and the caller has not looked since the last adv_rdmap_tx(). */
bool adv_rdmap_wants_look(const struct adv_rdmap_stream *s);

/* True if the stream may send nothing before the peer has sent an FPDU. */
bool adv_rdmap_first_awaited(const struct adv_rdmap_stream *s);

/*
 * Returns the bytes to send next, as at most `most` pieces in iov[]; 0: none. The pieces are valid
 * until the memory of a request changes its owner: until the caller releases the engine's lock, at
 * the latest. The caller then tells how many bytes the connection has taken, perhaps 0.
 */
size_t adv_rdmap_tx(struct adv_rdmap_stream *s, uint64_t now, struct iovec *iov, size_t most);
void adv_rdmap_sent(struct adv_rdmap_stream *s, uint64_t now, size_t len);
/* True between the two. */
bool adv_rdmap_offered(const struct adv_rdmap_stream *s);

/* Receives bytes. Bytes behind an error are ignored. */
void adv_rdmap_rx(struct adv_rdmap_stream *s, uint64_t now, const uint8_t *p, size_t len);

/*
 * Returns memory for the next bytes of the stream, as at most ADV_MAX_SGE pieces in iov[], if
 * payload comes next that may go directly to its place; 0: the caller receives to a buffer of its
 * own. The caller may receive fewer bytes, tells their number before any other call, and passes to
 * adv_rdmap_rx() what it has received behind them.
 */
unsigned adv_rdmap_rx_room(struct adv_rdmap_stream *s, struct iovec *iov);
void adv_rdmap_rx_placed(struct adv_rdmap_stream *s, const struct iovec *iov, size_t len);

/* ---- for captures and injected faults ---- */

/* Returns the first place at `from` or behind it where an FPDU begins, counted from the first byte
 * that the connection has not taken. */
size_t adv_rdmap_tx_begin(const struct adv_rdmap_stream *s, size_t from);
/* The same of the bytes that the connection has not delivered, from the first of them on;
 * ADV_FPDU_REST_UNKNOWN: not known. */
uint32_t adv_rdmap_rx_begin(const struct adv_rdmap_stream *s);
/* Damages the FPDU that is sent next, or the next one that arrives: its CRC is wrong. */
void adv_rdmap_tx_damage(struct adv_rdmap_stream *s);
void adv_rdmap_rx_damage(struct adv_rdmap_stream *s);
/* What the two ends have agreed on. */
const struct adv_rdmap_config *adv_rdmap_agreement(const struct adv_rdmap_stream *s);

/* The connection has ended, by the peer or by an error: the queue pair enters ERR. */
void adv_rdmap_ended(struct adv_rdmap_stream *s, uint64_t now);

#endif
