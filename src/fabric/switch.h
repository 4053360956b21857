/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An Ethernet switch with a shared buffer: store and forward, output queues by priority, PFC
 * towards who sends to it (IEEE 802.1Q, 36), ETS, ECN marks, ECMP, and SONiC's PFC watchdog.
 *
 * Free of any clock: time (picoseconds, never going back) comes in with each call. Driving it:
 *	adv_switch_rx()		a frame has come in whole
 *	adv_switch_pause()	a pause frame that came in takes effect
 *	adv_switch_tx()		the port can send: what?
 *	adv_switch_sent()	the frame that tx() returned has left
 *	adv_switch_expire()	to be called at adv_switch_deadline() at the latest
 * After each of them adv_switch_next_ready() names the ports that can send something and are asked
 * for nothing yet.
 *
 * The buffer. Each frame counts, from when it has come in to when it has left, for the port it came
 * in by and its priority. They have `reserved` bytes that nobody else can take; beyond them they
 * share the buffer up to a limit, which is `xoff`, or follows what is free of it:
 *	limit = reserved + alpha x (shared - shared in use)
 * The first frame of a lossless priority that does not fit under the limit goes to the `headroom`,
 * and the port's peer is paused; when the headroom is empty again and no more than limit -
 * xon_offset (or than what is reserved) is in use, it is told to go on. What does not fit into the
 * headroom is dropped. Frames of other priorities are dropped where their output queue is longer
 * than alpha x what is free, or the buffer is full.
 */
#ifndef ADV_FABRIC_SWITCH_H
#define ADV_FABRIC_SWITCH_H

#include "fabric/packet.h"
#include "fabric/route.h"

/* How one priority is treated, at all ports. Sizes in bytes of frames. */
struct adv_class {
	bool lossless;
	uint8_t weight;	     /* of ETS; 0: strict priority, before all with weights */
	uint32_t reserved;   /* of each port */
	uint32_t headroom;   /* lossless: of each port; see adv_switch_set_headroom() */
	uint32_t xoff;	     /* lossless: a limit that stays; 0: by alpha */
	uint32_t xon_offset; /* lossless: how far below the limit the pause ends */
	uint32_t alpha_1024; /* 1024: the limit is all that is free. SONiC's dynamic_th n is 2^n */
	uint32_t ecn_min;    /* K_min, K_max: bytes in the output queue; */
	uint32_t ecn_max;    /* 0: no marks */
	uint32_t ecn_ppm;    /* P_max, of a million, at K_max; beyond it all are marked */
};

/* SONiC's pfc_watchdog (pfc_detect_*.lua): every `poll` a queue is looked at. Where it had frames,
 * sent none and was paused for more than 99 % of the time, that time counts; `detect` of it is a
 * storm. It is over when `restore` has gone by without a pause. */
struct adv_watchdog {
	uint64_t poll; /* ps; 0: there is no watchdog */
	uint64_t detect;
	uint64_t restore;
	bool forward; /* in a storm, send in spite of the pause; else drop the queue */
};

struct adv_switch_config {
	unsigned ports;		       /* 1 to ADV_SWITCH_PORTS */
	const uint32_t *ps_per_byte;   /* of each port */
	uint64_t buffer;	       /* bytes, headroom included; to UINT32_MAX */
	const struct adv_class *class; /* of ADV_PRIORITIES */
	uint16_t pause_quanta; /* that pause frames tell; repeated at half that time. 0: the most */
	struct adv_watchdog watchdog;
	const struct adv_route_table *routes; /* stays the caller's, and must stay */
	struct adv_packet_pool *pool;	      /* likewise */
	uint64_t seed;			      /* of marks and ECMP */
};

#define ADV_SWITCH_PORTS 256

enum adv_drop {
	ADV_DROP_HEADROOM, /* lossless, but the headroom is full */
	ADV_DROP_QUEUE,	   /* lossy: the output queue is too long */
	ADV_DROP_BUFFER,   /* lossy: the shared buffer is full */
	ADV_DROP_NO_ROUTE,
	ADV_DROP_HOPS,	   /* it has gone over too many switches */
	ADV_DROP_WATCHDOG, /* a storm is on */
	ADV_DROP_REASONS
};

/* In words, for people. */
const char *adv_drop_name(enum adv_drop reason);

struct adv_switch_counters {
	uint64_t rx_frames; /* pause frames apart */
	uint64_t rx_bytes;
	uint64_t tx_frames;
	uint64_t tx_bytes;
	uint64_t drops[ADV_DROP_REASONS];
	uint64_t dropped_bytes;
	uint64_t ecn_marked;
	uint64_t rx_pause;  /* frames that pause, and those that resume */
	uint64_t tx_pause;  /* likewise */
	uint64_t storms;    /* that the watchdog found */
	uint64_t most_used; /* bytes of the buffer, ever */
};

struct adv_switch;

/* What happens, as it happens; fn must not call the switch. */
enum adv_switch_event {
	ADV_SWITCH_DROP,  /* packet; value: enum adv_drop */
	ADV_SWITCH_MARK,  /* packet; value: bytes in the queue */
	ADV_SWITCH_XOFF,  /* towards the port's peer; value: bytes in use of port and priority */
	ADV_SWITCH_XON,	  /* likewise */
	ADV_SWITCH_STORM, /* the watchdog acts on the queue; value: frames in it */
	ADV_SWITCH_STORM_END, /* ... and ceases to */
};
typedef void adv_switch_watch_fn(void *user, uint64_t now, enum adv_switch_event what,
				 unsigned port, unsigned priority, const struct adv_packet *packet,
				 uint64_t value);

/* NULL with errno ENOMEM; EINVAL: ports or buffer out of range, or the buffer is smaller than what
 * is reserved and headroom. */
struct adv_switch *adv_switch_create(const struct adv_switch_config *config);
/* Gives the frames that it has back to the pool. */
void adv_switch_destroy(struct adv_switch *s);

/* Of one port, as its cable needs it. 0, or EINVAL: the buffer is too small. Before any frame. */
int adv_switch_set_headroom(struct adv_switch *s, unsigned port, unsigned priority, uint32_t bytes);

void adv_switch_watch(struct adv_switch *s, adv_switch_watch_fn *fn, void *user);

/* A data frame came in by `port`; it is the switch's now. */
void adv_switch_rx(struct adv_switch *s, uint64_t now, unsigned port, struct adv_packet *p);
/* A pause frame takes effect on what the port sends; it stays the caller's. */
void adv_switch_pause(struct adv_switch *s, uint64_t now, unsigned port,
		      const struct adv_packet *frame);

/* What the port is to send now: the caller's until sent(), and to hand on afterwards. NULL:
 * nothing. To be asked only while the port is not sending. */
struct adv_packet *adv_switch_tx(struct adv_switch *s, uint64_t now, unsigned port);
/* It has left: its room in the buffer is free. */
void adv_switch_sent(struct adv_switch *s, uint64_t now, unsigned port, const struct adv_packet *p);

/*
 * Before these: what they need is fetched into the cache. Nothing changes. First fetch_port(), for
 * any of them; when that and the frame have come, the others.
 */
void adv_switch_fetch_port(const struct adv_switch *s, unsigned port);
void adv_switch_fetch_rx(const struct adv_switch *s, unsigned port, const struct adv_packet *p);
void adv_switch_fetch_sent(const struct adv_switch *s, unsigned port, const struct adv_packet *p);

/* The next port of those that became able to send, each said once; -1: no more. */
int adv_switch_next_ready(struct adv_switch *s);

uint64_t adv_switch_deadline(const struct adv_switch *s);
void adv_switch_expire(struct adv_switch *s, uint64_t now);

/* ---- looking at it ---- */

const struct adv_switch_counters *adv_switch_counters(const struct adv_switch *s);
unsigned adv_switch_ports(const struct adv_switch *s);
uint64_t adv_switch_used(const struct adv_switch *s); /* bytes of frames in it */
/* The output side of a port: lengths, pauses, what was sent. */
const struct adv_egress *adv_switch_egress(const struct adv_switch *s, unsigned port);

/* What came in by a port with a priority. */
struct adv_ingress {
	uint32_t used;		/* bytes, those in the headroom not included */
	uint32_t headroom_used; /* bytes */
	uint32_t headroom;	/* bytes it has */
	uint32_t most_headroom; /* ever used */
	bool paused;		/* its peer has been told to stop */
};
const struct adv_ingress *adv_switch_ingress(const struct adv_switch *s, unsigned port,
					     unsigned priority);
/* Beyond it the peer of a lossless priority is paused, and of another, frames are dropped: bytes,
 * as things are now. */
uint64_t adv_switch_limit(const struct adv_switch *s, unsigned priority);
/* adv_egress_take_peak() of an output queue. */
uint64_t adv_switch_take_peak(struct adv_switch *s, unsigned port, unsigned priority);
/* The limit of such where `shared_used` of the shared buffer are in use, and whether a pause is
 * over with `used` bytes there and none in the headroom: for reasoning about deadlocks. */
bool adv_switch_would_resume(const struct adv_switch *s, unsigned priority, uint64_t used,
			     uint64_t shared_used);
/* True while the watchdog acts on the queue. */
bool adv_switch_storm(const struct adv_switch *s, unsigned port, unsigned priority);

#endif
