/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The NIC as a pure state machine: queue pairs, completion queues, shared receive queues,
 * memory keys and the reliable transport between them (IBTA vol. 1, chapters 9 to 11).
 *
 * No system call, thread, lock, clock or global: time comes in as nanoseconds of any
 * monotonic clock, randomness from the seed of the configuration. One engine and all of
 * its objects are used under one lock, their owner's. The public verbs structures
 * (<infiniband/verbs.h>) serve as argument types, so that nothing is translated twice.
 *
 * Driving it:
 *	adv_engine_rx()       a packet has come
 *	adv_engine_tx()       the link can take packets
 *	adv_engine_deadline() when to call adv_engine_expire() at the latest
 *	adv_engine_event()    completion and asynchronous events to hand to the application;
 *			      asked for after any other call
 * Sending is pulled: back-pressure is not pulling. A packet that tx() has returned counts
 * as sent; a link that loses it is the network losing it.
 */
#ifndef ADV_TRANSPORT_ENGINE_H
#define ADV_TRANSPORT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "transport/cause.h"
#include "transport/congestion.h"
#include "transport/objects.h"
#include "wire/packet.h"

#define ADV_NEVER UINT64_MAX

struct adv_engine_config {
	uint64_t seed[4];   /* of the generator for keys and PSNs; getrandom(2) on a real device */
	uint32_t qpn_first; /* first QP number that is this engine's */
	uint32_t qpn_count; /* how many, from there on */
	uint32_t window;    /* packets in flight a QP may have at most; 0: the default, 64 */
	uint32_t total_window;	  /* packets in flight of all QPs together; 0: 4 x window */
	uint32_t unreliable_mbps; /* UC and UD are sent no faster, as nothing pushes back; 0: no
				     limit */
	bool local_credit; /* UC and UD towards this engine's own addresses: no faster than the
			    * receiver takes it, which both engines must be set to */
	bool local_memory; /* packets to these go through memory, where each may as well go alone:
			    * what is urgent does not wait for what is not */
	/*
	 * How many times the QP's timeout passes without an answer until a retry is used up, 1 to
	 * 4; 0: 1. IBTA 9.7.6.1.3 allows up to 4. Of the first retry, questions go out after 1, 2
	 * and 4 timeouts. On a busy machine the peer may well be late without being gone.
	 */
	uint8_t timeout_ticks;
	/*
	 * ns that an ACK may wait for the program's own next request, where it mostly makes one at
	 * once; 0: none waits. Far less than any timeout of a peer.
	 */
	uint64_t ack_delay;
	const struct adv_cc_config *cc; /* copied; NULL: adv_cc_default() */
	/*
	 * For simulations of what the first RoCE cards did, on all engines of a network: a loss
	 * restarts the whole message, at both ends (go-back-0; RDMA over Commodity Ethernet at
	 * Scale, SIGCOMM 2016, 4.1). The responder goes back to the message's first PSN and
	 * acknowledges nothing inside a message; no message may have more packets than `window`.
	 * A NAK costs no retry, and losses do not shrink the window. False: go-back-N, as IBTA
	 * 9.7 has it.
	 */
	bool go_back_0;
	/*
	 * Bytes that a queue pair whose rate is limited may send at once to make up for time that
	 * it was late; with 0 its packets leave evenly, and adv_engine_deadline() says each one's
	 * time. Where the clock's user wakes late, as threads do, it should hold what the rate has
	 * in that time.
	 */
	uint32_t pace_burst;
	/*
	 * Brings in the pages of [addr, addr + length), at most ADV_PAGED_AT_ONCE bytes, to be read
	 * or written; false: the program has nothing there, or not for writing. Asked for each
	 * packet that touches a region of on-demand paging (IBV_ACCESS_ON_DEMAND), whose memory may
	 * come and go. NULL: such regions are like others.
	 */
	bool (*page_in)(void *addr, uint64_t length, bool to_write);
};

/* The largest payload of a packet. */
#define ADV_PAGED_AT_ONCE 4096

/* Counters, under the names that operators know from mlx5 and rxe. */
struct adv_engine_counters {
	uint64_t rx_packets;
	uint64_t tx_packets;
	uint64_t rx_malformed; /* undecodable, wrong length for the opcode */
	uint64_t rx_no_qp;     /* no such QP, wrong service, or not in a state to receive */
	uint64_t rx_bad_pkey;
	uint64_t rx_bad_qkey;
	uint64_t rx_bad_address; /* not the connected peer's address, or not to the QP's GID */
	uint64_t rx_bad_sender;	 /* from this machine, but not from the sender's own UDP port */
	uint64_t duplicate_request;
	uint64_t out_of_sequence;
	uint64_t packet_seq_err; /* NAKs of sequence error received */
	uint64_t implied_nak_seq_err;
	uint64_t local_ack_timeout_err;
	uint64_t rnr_nak_sent;
	uint64_t rnr_nak_retry_err; /* RNR NAKs received */
	uint64_t out_of_buffer;	    /* no receive posted */
	uint64_t req_transport_retries_exceeded;
	uint64_t req_rnr_retries_exceeded;
	uint64_t rx_write_requests;
	uint64_t rx_read_requests;
	uint64_t rx_atomic_requests;
	uint64_t resp_local_length_error;
	uint64_t resp_remote_access_errors; /* requests that we answered with an access NAK */
	uint64_t req_remote_access_errors;
	uint64_t req_remote_invalid_request;
	uint64_t req_cqe_error;
	uint64_t resp_cqe_error;
	uint64_t uc_drops; /* UC and UD messages dropped without a word */
	uint64_t np_ecn_marked_roce_packets;
	uint64_t np_cnp_sent;
	uint64_t rp_cnp_handled;
	uint64_t rp_cnp_ignored; /* of a good sender, but there is no congestion control, or no
				    memory for it */
	uint64_t out_of_memory;	 /* packets that counted as lost, and CNPs without effect, for lack
				    of memory */
};

/* Returns NULL with errno ENOMEM or EINVAL. */
struct adv_engine *adv_engine_create(const struct adv_engine_config *config);

/* Frees the engine and everything still in it; adv_* objects of it are gone. */
void adv_engine_destroy(struct adv_engine *e);

/*
 * Several may use one engine: protection domains, CQs and XRC domains that are made from now on are
 * this one's (any pointer; NULL at first), and so is what is made in them.
 */
void adv_engine_set_owner(struct adv_engine *e, const void *owner);
/* Destroys what is an owner's, whatever uses it, as adv_engine_destroy() does with all. Address
 * handles stay the caller's, but are good for nothing any more. */
void adv_engine_release(struct adv_engine *e, const void *owner);

/* Adds QP numbers, at most ADV_ENGINE_RANGES times. 0, EINVAL or ENOMEM. */
int adv_engine_add_qpns(struct adv_engine *e, uint32_t first, uint32_t count);

/* How many numbers no QP has now. Those given back last are among them: who can add more does so
 * before this is less than ADV_QPNS_RESTING, that packets of the past find nobody. */
uint32_t adv_engine_qpns_left(const struct adv_engine *e);
#define ADV_QPNS_RESTING 1024

/* How many SRQs of XRC domains can be made yet; they have numbers of the same ranges. */
uint32_t adv_engine_srqns_left(const struct adv_engine *e);

/* True for a number of the engine's ranges, whether a QP has it or not. */
bool adv_engine_has_qpn(const struct adv_engine *e, uint32_t qpn);

/* Entry of the GID table; `mtu` is the path MTU in bytes (256..4096) its interface allows. */
struct adv_engine_gid {
	struct adv_gid gid;
	uint32_t mtu;
};

/* Replaces the GID table (copied). QPs and AHs keep the address they were made with. */
int adv_engine_set_gids(struct adv_engine *e, const struct adv_engine_gid *gids, unsigned count);

/*
 * Who may send from this machine: `port` has ADV_PREFIXES entries, by the prefix of the sender's
 * QPN (wire/slot.h); 0: nobody. `home` has as many: the slot of the sender's process, by which
 * memory knows it. Both are read as packets come, may change at any time, and must stay until the
 * engine is destroyed. From then on a packet that is not multicast, and comes from an address of
 * the GID table or 127.0.0.0/8, counts only where its UDP source port is the entry of the QP that
 * it says or that the queue pair is connected to, or where it came through the memory of that QP's
 * process. Without this call, ports mean nothing.
 */
void adv_engine_set_senders(struct adv_engine *e, const _Atomic uint16_t *port,
			    const _Atomic uint16_t *home);

/*
 * The process that had this slot is gone. UC and UD towards it wait no longer for its answers, as
 * they would until `port` is 0 there.
 */
void adv_engine_peer_left(struct adv_engine *e, uint64_t now, uint16_t slot);

/* The speed of the port in Mb/s, at which queue pairs send that nothing limits; 0: not known, and
 * taken to be 40,000. For congestion control whose rpg_max_rate is 0. */
void adv_engine_set_line_rate(struct adv_engine *e, uint32_t mbps);

/* Takes one packet. Never fails: what is wrong with it is counted, or answered on the wire. */
void adv_engine_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt);

/* Fills the batch (reset first) with packets to send; returns their number. 0: nothing now. */
unsigned adv_engine_tx(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch);
/* ... with at most `limit` packets, 1 to ADV_TX_BATCH_PACKETS: for a link that sends them one by
 * one, so that what becomes urgent meanwhile is not behind them. */
unsigned adv_engine_tx_some(struct adv_engine *e, uint64_t now, struct adv_tx_batch *batch,
			    unsigned limit);

/*
 * Queue pairs whose packets bear one of these DSCPs (a bit each) are passed over by adv_engine_tx()
 * from now on, those of others are not any more: for a link that is paused by priority. CNPs and
 * datagrams go on.
 */
void adv_engine_hold(struct adv_engine *e, uint64_t dscps);

/* True where adv_engine_tx() would find a QP to look at. */
bool adv_engine_tx_ready(const struct adv_engine *e);
/*
 * True where a small request may wait for others to be sent with it: packets are in flight, so that
 * the owner will have to receive, and go by a link where each costs a system call.
 */
bool adv_qp_may_wait(const struct adv_qp *qp);

/* What each packet, out or in, needs of the engine is fetched into the cache. Changes nothing: for
 * who has many engines, and knows which is next. */
void adv_engine_fetch(const struct adv_engine *e);

/* When adv_engine_expire() has something to do: a time of the caller's clock, or ADV_NEVER. */
uint64_t adv_engine_deadline(const struct adv_engine *e);
void adv_engine_expire(struct adv_engine *e, uint64_t now);

/* As adv_engine_deadline(), but without ACKs that wait for a request (ack_delay): the program will
 * most likely make it, so that nobody need be woken for them. */
uint64_t adv_engine_firm_deadline(const struct adv_engine *e);
/* Whether there are acknowledgements that wait. */
bool adv_engine_acks_wait(const struct adv_engine *e);

/*
 * Lets no ACK wait any longer; true where one did. To be followed by adv_engine_tx(), before a QP
 * is taken away or the program ends: its peer has a right to the ACK of what was received.
 */
bool adv_engine_hasten_acks(struct adv_engine *e);

const struct adv_engine_counters *adv_engine_counters(const struct adv_engine *e);

/* Sequence of bytes unguessable to others where the seed is; for GUIDs, tests, tools. */
uint64_t adv_engine_random(struct adv_engine *e);

/* ---- faults on purpose ---------------------------------------------------------------- */

/* What may be made to fail, and the answer that does it. */
enum adv_injection {
	ADV_INJECT_POST,       /* an errno: the post, which would have succeeded, fails with it */
	ADV_INJECT_COMPLETION, /* an enum ibv_wc_status: the request, which has been carried out,
				* completes with it and ADV_ERR_INJECTED, and the QP fails as it
				* would with that status; a responder refuses the message */
	ADV_INJECT_NOT_READY,  /* not 0: a message finds no receive request, posted or not */
};

enum adv_work_queue { ADV_WORK_SEND, ADV_WORK_RECV, ADV_WORK_SHARED };

#define ADV_WORK_NO_OPCODE 0xff

/* A work request that something may happen to. */
struct adv_work {
	enum adv_work_queue queue;
	uint32_t qpn;	/* 0: it is posted to an SRQ */
	uint8_t opcode; /* BTH opcode of a packet that carries it; of a receive, of the message's
			 * last; ADV_WORK_NO_OPCODE: not known, or it needs no packet */
};

/* 0: nothing happens. Called under the engine's lock, and must not call back into the engine. */
typedef uint32_t adv_injector(void *user, enum adv_injection what, const struct adv_work *work);

/* Asks fn from now on; NULL: nobody, as in a new engine. */
void adv_engine_set_injector(struct adv_engine *e, adv_injector *fn, void *user);

/*
 * Raises an asynchronous event as if there were a reason, of each QP from RTR on whose number is in
 * the range, or of each CQ or SRQ that QPs of the range use (all numbers: of each that there is).
 * QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR bring the QP to error, CQ_ERR the CQ to overrun. Returns
 * how many there were.
 */
unsigned adv_engine_raise(struct adv_engine *e, uint64_t now, enum ibv_event_type type,
			  uint32_t qpn_first, uint32_t qpn_last);

/* What adv_engine_event() returns. */
struct adv_event {
	enum { ADV_EVENT_COMPLETION, ADV_EVENT_ASYNC } kind;
	enum ibv_event_type async; /* ADV_EVENT_ASYNC */
	struct adv_cq *cq;	   /* COMPLETION, CQ_ERR */
	struct adv_qp *qp;	   /* QP events */
	struct adv_srq *srq;	   /* SRQ events */
	uint8_t why;		   /* enum adv_vendor_err: of an error */
};

/* Takes the next event; false: none. Events of objects destroyed meanwhile never come. */
bool adv_engine_event(struct adv_engine *e, struct adv_event *event);
bool adv_engine_has_event(const struct adv_engine *e);

#endif
