/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An Ethernet switch with a shared buffer: store and forward, output queues by priority, PFC
 * towards its peers (IEEE 802.1Q 36), ETS, ECN marks, ECMP, and SONiC's PFC watchdog.
 *
 * The switch reads no clock. The caller passes the time in picoseconds, which must not decrease.
 *	adv_switch_rx()		receives a frame that has arrived completely
 *	adv_switch_pause()	applies a received pause frame
 *	adv_switch_tx()		dequeues the next frame of a port that is free
 *	adv_switch_sent()	ends the sending of the frame that adv_switch_tx() returned
 *	adv_switch_expire()	must be called at adv_switch_deadline() at the latest
 * After each of these calls, adv_switch_next_ready() returns the ports that can send now.
 *
 * The buffer. A frame occupies the buffer from its reception until it was sent. It counts for its
 * input port and priority, which have `reserved` bytes of their own. Above these bytes they use the
 * shared buffer up to a limit. The limit is `xoff`, or depends on the free part:
 *	limit = reserved + alpha x (shared - shared in use)
 * The first frame of a lossless priority above the limit goes to the `headroom`, and the port's
 * peer is paused. The peer is resumed when the headroom is empty and at most limit - xon_offset, or
 * the reserved bytes, are in use. A frame that does not fit into the headroom is dropped. A frame
 * of another priority is dropped if its output queue is longer than alpha x the free part, or if
 * the buffer is full.
 */
#ifndef ADV_FABRIC_SWITCH_SWITCH_H
#define ADV_FABRIC_SWITCH_SWITCH_H

#include "fabric/network/packet.h"
#include "fabric/switch/route.h"

/* Parameters of one priority at all ports. Sizes are bytes of frames. */
struct adv_class {
	bool lossless;
	uint8_t weight;	     /* weight in ETS; 0: strict priority, served before all weights */
	uint32_t reserved;   /* reserved bytes of each port */
	uint32_t headroom;   /* lossless: of each port; see adv_switch_set_headroom() */
	uint32_t xoff;	     /* lossless: fixed limit; 0: the limit depends on alpha */
	uint32_t xon_offset; /* lossless: the pause ends this far below the limit */
	uint32_t alpha_1024; /* alpha x 1024; SONiC's dynamic_th n is alpha 2^n */
	uint32_t ecn_min;    /* K_min: bytes in the output queue */
	uint32_t ecn_max;    /* K_max; 0: no marks */
	uint32_t ecn_ppm;    /* P_max at K_max, in millionths; above K_max all frames are marked */
};

/* SONiC's pfc_watchdog (pfc_detect_*.lua). It checks each queue every `poll`. A queue is stuck in
 * an interval if it had frames, sent none, and was paused for more than 99 % of the interval. After
 * a time `detect` of stuck intervals, the watchdog reports a storm. The storm ends after a time
 * `restore` without a pause. All times are ps. */
struct adv_watchdog {
	uint64_t poll; /* ps; 0: there is no watchdog */
	uint64_t detect;
	uint64_t restore;
	bool forward; /* true: in a storm send although paused; false: drop the queue */
};

/* How a switch chooses among the ports of a route. */
enum adv_balance {
	ADV_BALANCE_ECMP,     /* by a hash of the flow */
	ADV_BALANCE_SPRAY,    /* at random for each frame */
	ADV_BALANCE_ADAPTIVE, /* for each frame the port with the shortest queue of its priority; at
				 random among equal ones */
};

struct adv_switch_config {
	unsigned ports;		       /* 1 to ADV_SWITCH_PORTS */
	const uint32_t *ps_per_byte;   /* time of a byte on the cable of each port, ps */
	const uint32_t *number;	       /* the caller's number of each port, or NULL */
	uint64_t buffer;	       /* bytes, including headroom; up to UINT32_MAX */
	const struct adv_class *class; /* ADV_PRIORITIES of them */
	uint16_t pause_quanta; /* time in pause frames, which are repeated after half of it; 0: the
				  maximum */
	struct adv_watchdog watchdog;
	const struct adv_route_table *routes; /* the caller keeps it as long as the switch exists */
	struct adv_packet_pool *pool;	      /* the caller keeps it as long as the switch exists */
	enum adv_balance balance;
	uint64_t seed; /* seed of the random marks, of ECMP and of `balance` */
};

#define ADV_SWITCH_PORTS 256

enum adv_drop {
	ADV_DROP_HEADROOM, /* lossless: the headroom is full */
	ADV_DROP_QUEUE,	   /* lossy: the output queue is too long */
	ADV_DROP_BUFFER,   /* lossy: the shared buffer is full */
	ADV_DROP_NO_ROUTE,
	ADV_DROP_HOPS,	   /* the hop limit is exceeded */
	ADV_DROP_WATCHDOG, /* the watchdog dropped the frame in a storm */
	ADV_DROP_REASONS
};

/* Returns the reason in words. */
const char *adv_drop_name(enum adv_drop reason);

struct adv_switch_counters {
	uint64_t rx_frames; /* received frames without pause frames */
	uint64_t rx_bytes;
	uint64_t tx_frames;
	uint64_t tx_bytes;
	uint64_t most_used; /* largest use of the buffer, bytes */
	uint64_t drops[ADV_DROP_REASONS];
	uint64_t dropped_bytes;
	uint64_t ecn_marked;
	uint64_t rx_pause; /* pause and resume frames */
	uint64_t tx_pause; /* pause and resume frames */
	uint64_t storms;   /* found by the watchdog */
};

struct adv_switch;

/* Events of a switch. The switch reports each one at once. The callback must not call the
 * switch. */
enum adv_switch_event {
	ADV_SWITCH_DROP,      /* packet; value: enum adv_drop */
	ADV_SWITCH_MARK,      /* packet; value: bytes in the queue */
	ADV_SWITCH_XOFF,      /* the port's peer is paused; value: bytes in use */
	ADV_SWITCH_XON,	      /* the port's peer is resumed; value: bytes in use */
	ADV_SWITCH_STORM,     /* the watchdog acts on the queue; value: frames in it */
	ADV_SWITCH_STORM_END, /* the watchdog no longer acts on the queue */
	ADV_SWITCH_DOWN,      /* the port's cable has failed */
	ADV_SWITCH_UP,	      /* the port's cable works again */
};
typedef void adv_switch_watch_fn(void *user, uint64_t now, enum adv_switch_event what,
				 unsigned port, unsigned priority, const struct adv_packet *packet,
				 uint64_t value);

/* Creates a switch. NULL with errno ENOMEM; EINVAL: ports or buffer out of range, or the buffer
 * is smaller than reserved bytes and headroom. */
struct adv_switch *adv_switch_create(const struct adv_switch_config *config);
/* Destroys the switch and returns its frames to the pool. */
void adv_switch_destroy(struct adv_switch *s);

/* Sets the headroom of one port and priority. Returns 0, or EINVAL: the buffer is too small.
 * Call it before the first frame. */
int adv_switch_set_headroom(struct adv_switch *s, unsigned port, unsigned priority, uint32_t bytes);

void adv_switch_watch(struct adv_switch *s, adv_switch_watch_fn *fn, void *user);

/* Receives a data frame from `port`. The switch then owns the frame. */
void adv_switch_rx(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p);
/* Applies a pause frame to the port's output queues. The caller keeps the frame. */
void adv_switch_pause(struct adv_switch *s, uint64_t now, unsigned port,
		      const struct adv_packet *frame);

/* The port's cable fails. Pauses by the peer end. The port continues to send, into nothing. */
void adv_switch_link_down(struct adv_switch *s, uint64_t now, unsigned port);
/* The port's cable works again. If the switch has paused the peer, it sends the pause again. */
void adv_switch_link_up(struct adv_switch *s, uint64_t now, unsigned port);
/* Replaces the pool. Call it before the first frame. */
void adv_switch_set_pool(struct adv_switch *s, struct adv_packet_pool *pool);
/* Replaces the routes. The caller keeps them as long as the switch uses them. */
void adv_switch_set_routes(struct adv_switch *s, const struct adv_route_table *routes);

/* Dequeues the next frame of a port that is not sending. NULL: no frame may be sent. The caller
 * passes the frame to adv_switch_sent(), and then to the receiver. */
struct adv_packet *adv_switch_tx(struct adv_switch *s, uint64_t now, unsigned port);
/* Ends the sending of a frame: frees its room in the buffer. */
void adv_switch_sent(struct adv_switch *s, uint64_t now, unsigned port, const struct adv_packet *p);

/* Returns the next port that has become able to send. Returns each port once, then -1. */
int adv_switch_next_ready(struct adv_switch *s);

/* Returns the time of the next adv_switch_expire(), ps. */
uint64_t adv_switch_deadline(const struct adv_switch *s);
/* Ends expired pauses, repeats pause frames and runs the watchdog, each if it is due. */
void adv_switch_expire(struct adv_switch *s, uint64_t now);

/* ---- queries ---- */

const struct adv_switch_counters *adv_switch_counters(const struct adv_switch *s);
unsigned adv_switch_ports(const struct adv_switch *s);
uint64_t adv_switch_used(const struct adv_switch *s); /* bytes of stored frames */
/* Returns the output queues of a port. */
const struct adv_egress *adv_switch_egress(const struct adv_switch *s, unsigned port);

/* The stored frames of an input port and priority. */
struct adv_ingress {
	uint32_t used;		/* bytes of frames, without those in the headroom */
	uint32_t headroom_used; /* bytes */
	uint32_t headroom;	/* size, bytes */
	uint32_t most_headroom; /* largest use, bytes */
	bool paused;		/* the port's peer is paused in this priority */
};
const struct adv_ingress *adv_switch_ingress(const struct adv_switch *s, unsigned port,
					     unsigned priority);
/* Returns the current limit in bytes. If an input port uses more, its peer is paused in a lossless
 * priority, and frames of another priority are dropped. */
uint64_t adv_switch_limit(const struct adv_switch *s, unsigned priority);
/* Calls adv_egress_take_peak() for an output queue. */
uint64_t adv_switch_take_peak(struct adv_switch *s, unsigned port, unsigned priority);
/* True if a pause of this priority would end if the input port used `used` bytes, its headroom
 * were empty, and `shared_used` bytes of the shared buffer were in use. Used by the search for
 * deadlocks. */
bool adv_switch_would_resume(const struct adv_switch *s, unsigned priority, uint64_t used,
			     uint64_t shared_used);
/* True while the watchdog acts on the queue. */
bool adv_switch_storm(const struct adv_switch *s, unsigned port, unsigned priority);

#endif
