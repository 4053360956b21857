/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A simulated Ethernet with hosts whose NIC is the transport engine: the same code that talks to
 * real networks, in virtual time. A run depends on its configuration and seed only: the same input
 * gives the same output, bit for bit, on any machine.
 *
 *	f = adv_fabric_create(&config);
 *	c = adv_fabric_connect(f, &connection);
 *	adv_fabric_transfer(f, c, bytes, at);
 *	adv_fabric_run(f, until);
 *	adv_fabric_get_transfer(f, ...), adv_fabric_switch(f, ...), ...
 *
 * Times are picoseconds of virtual time. Data is not carried for its own sake: all hosts send from,
 * and receive into, one shared buffer.
 */
#ifndef ADV_FABRIC_FABRIC_H
#define ADV_FABRIC_FABRIC_H

#include "fabric/switch.h"
#include "fabric/topology.h"
#include "transport/engine.h"

/* Bytes of a work request at most, which is the size of the buffer that all of them use; and
 * usually. */
#define ADV_FABRIC_MESSAGE_MAX (1u << 24)
#define ADV_FABRIC_MESSAGE     (1u << 20)

struct adv_fabric_config {
	const struct adv_topology *topology;	/* with routes; stays the caller's, and must stay */
	struct adv_class class[ADV_PRIORITIES]; /* headroom 0 of a lossless one: as the cable needs,
						 * adv_fabric_headroom() */
	uint64_t buffer;			/* bytes, of each switch */
	uint16_t pause_quanta;			/* 0: the most */
	uint64_t
		pause_response; /* ps from when a pause frame has come in to when it takes effect */
	struct adv_watchdog watchdog;
	uint8_t priority_of_dscp[64];
	uint32_t mtu;		 /* RoCE payload bytes: 256, 512, 1024, 2048 or 4096 */
	uint64_t check_deadlock; /* ps between looks for a deadlock; 0: none */
	uint64_t seed;
	struct adv_engine_config engine; /* of each host; seeds and QP numbers are chosen */
};

/*
 * RoCE as it is usually deployed: DSCP / 8 is the priority; 3 is lossless with a limit by alpha
 * 1/8, 6 (where CNPs go) strict, the others share; buffer 32 MB, MTU 4096, ECN off, no watchdog,
 * deadlock looked for every 100 us. `topology` and `seed` are left to the caller.
 */
void adv_fabric_defaults(struct adv_fabric_config *config);

/*
 * Bytes of headroom that a port needs to lose nothing: the frame that crosses the limit, one being
 * sent while the pause frame waits, that frame, the way there, the response, one that the peer has
 * just begun, the way back. `mtu` as in the configuration.
 */
uint64_t adv_fabric_headroom(struct adv_cable cable, uint32_t mtu, uint64_t pause_response);

/* Bytes of a switch's buffer that a port with this cable has to itself: of all priorities what is
 * reserved, and the headroom. */
uint64_t adv_fabric_dedicated(const struct adv_fabric_config *config, struct adv_cable cable);

struct adv_fabric;

/* NULL with errno EINVAL: a host has no cable, the MTU or a priority is none, or the buffer cannot
 * be; ENOMEM. */
struct adv_fabric *adv_fabric_create(const struct adv_fabric_config *config);
void adv_fabric_destroy(struct adv_fabric *f);

/* ---- what goes over it ---- */

enum adv_fabric_operation { ADV_FABRIC_WRITE, ADV_FABRIC_SEND, ADV_FABRIC_READ };

/* An RC connection. READ: the target's data comes to the initiator. */
struct adv_fabric_connection {
	uint32_t initiator; /* host */
	uint32_t target;
	enum adv_fabric_operation operation;
	uint8_t dscp;
	uint32_t message;    /* bytes of a work request, to ADV_FABRIC_MESSAGE_MAX; 0:
			      * ADV_FABRIC_MESSAGE */
	uint32_t depth;	     /* work requests posted at once; 0: 8 */
	uint8_t timeout;     /* of ibv_qp_attr, 4.096 us x 2^n; 0: 14, which is 67 ms */
	uint8_t retry_count; /* 0: 7 */
};

/* The connection's number, from 0 on, or -1 with errno EINVAL, ENOMEM. */
int64_t adv_fabric_connect(struct adv_fabric *f, const struct adv_fabric_connection *c);

/* Bytes to be moved over a connection, from `at` on (not before now) and after those that were
 * asked for earlier. UINT64_MAX bytes never end. The transfer's number, or -1 with errno EINVAL,
 * ENOMEM, ENOTCONN: the connection has failed. */
int64_t adv_fabric_transfer(struct adv_fabric *f, uint32_t connection, uint64_t bytes, uint64_t at);

/*
 * The same, but it begins when another transfer has ended: for collectives, whose steps wait for
 * each other. Where that one fails, the connection of this one does, with IBV_WC_WR_FLUSH_ERR. -1
 * with errno as above; EINVAL also: there is no such transfer.
 */
int64_t adv_fabric_transfer_after(struct adv_fabric *f, uint32_t connection, uint64_t bytes,
				  uint32_t transfer);

struct adv_fabric_transfer_state {
	uint32_t connection;
	uint64_t bytes;
	uint64_t done;	/* bytes completed */
	uint64_t start; /* when it was to begin; ADV_CALENDAR_NEVER: another has not ended */
	uint64_t end;	/* when its last work request completed, or failed; ADV_CALENDAR_NEVER */
	enum ibv_wc_status status;
};
const struct adv_fabric_transfer_state *adv_fabric_get_transfer(const struct adv_fabric *f,
								uint32_t transfer);

/* What the connection was made with, its defaults put in. NULL: there is none of this number. */
const struct adv_fabric_connection *adv_fabric_get_connection(const struct adv_fabric *f,
							      uint32_t connection);

/* adv_fabric_received() is to count, which costs a little for each packet. Before the first run. */
void adv_fabric_count_received(struct adv_fabric *f);
/* Payload bytes of the connection that came in, each once and in its order: what was lost and what
 * came twice do not count. */
uint64_t adv_fabric_received(const struct adv_fabric *f, uint32_t connection);

/* ---- trouble ---- */

/* From then on frames that come over the cable, both ways, get lost with this probability. */
void adv_fabric_lose(struct adv_fabric *f, uint32_t link, uint32_t per_million);

/* The host takes frames in only at this speed: it has `room` bytes for those that wait, and pauses
 * their priorities from `xoff` on, down to `xon`. What finds no room is lost. */
struct adv_fabric_slow {
	uint32_t ps_per_byte;
	uint32_t xoff;
	uint32_t xon;
	uint32_t room;
};
/* 0; EINVAL: xon > xoff or xoff > room; ENOMEM. Before the first run. */
int adv_fabric_slow_host(struct adv_fabric *f, uint32_t host, const struct adv_fabric_slow *slow);

/* A NIC gone wrong: it pauses these priorities without end from `from` to `to`. 0 or ENOMEM. */
int adv_fabric_storm(struct adv_fabric *f, uint32_t host, uint8_t priorities, uint64_t from,
		     uint64_t to);

/* ---- running ---- */

enum adv_fabric_stop {
	ADV_FABRIC_UNTIL,    /* the time has come */
	ADV_FABRIC_EVENTS,   /* so many events were processed */
	ADV_FABRIC_DONE,     /* all transfers are done, or failed */
	ADV_FABRIC_DEADLOCK, /* see adv_fabric_deadlock() */
	ADV_FABRIC_NO_MEMORY,
};

/* Runs until then, or sooner. Looking for a deadlock stops it once; it can be run on. */
enum adv_fabric_stop adv_fabric_run(struct adv_fabric *f, uint64_t until);
/* The same, for so many events at most: to look in between whether somebody wants it to end. */
enum adv_fabric_stop adv_fabric_run_some(struct adv_fabric *f, uint64_t until, uint64_t events);
uint64_t adv_fabric_now(const struct adv_fabric *f);
uint64_t adv_fabric_events(const struct adv_fabric *f); /* processed so far */

/* ---- deadlock ---- */

/* A switch's output queue that waits for the next switch to go on. */
struct adv_fabric_wait {
	uint32_t sw; /* number of the switch, from 0 */
	uint16_t port;
	uint8_t priority;
};

/*
 * The cycle of paused queues, each waiting for the next and the last for the first, that was found:
 * how many, and at most `room` of them. 0: none was. It is one that cannot dissolve by itself: even
 * if all else drained, none of the pauses would end.
 */
unsigned adv_fabric_deadlock(const struct adv_fabric *f, struct adv_fabric_wait *cycle,
			     unsigned room);
/* Looks now. */
unsigned adv_fabric_find_deadlock(const struct adv_fabric *f, struct adv_fabric_wait *cycle,
				  unsigned room);

/* ---- looking at it ---- */

struct adv_fabric_host_counters {
	uint64_t tx_frames; /* data, sent whole */
	uint64_t tx_bytes;
	uint64_t rx_frames; /* taken in by the engine */
	uint64_t rx_bytes;
	uint64_t rx_dropped; /* a slow host's, without room */
	uint64_t rx_pause;
	uint64_t tx_pause;
};

struct adv_switch *adv_fabric_switch(const struct adv_fabric *f, uint32_t sw);
struct adv_engine *adv_fabric_engine(const struct adv_fabric *f, uint32_t host);
/* What the host is about to send. */
const struct adv_egress *adv_fabric_egress(const struct adv_fabric *f, uint32_t host);
const struct adv_fabric_host_counters *adv_fabric_host_counters(const struct adv_fabric *f,
								uint32_t host);
uint64_t adv_fabric_lost(const struct adv_fabric *f); /* frames, by adv_fabric_lose() */
/* Data frames on wires and in hosts (those in switches: adv_switch_used()), and their bytes. */
void adv_fabric_outside(const struct adv_fabric *f, uint64_t *frames, uint64_t *bytes);
uint64_t adv_fabric_memory(const struct adv_fabric *f); /* bytes, of packets and events */

enum adv_fabric_event_kind {
	ADV_FABRIC_SWITCH,	/* `what` says; node: the switch's number */
	ADV_FABRIC_HOST_PAUSED, /* a pause frame took effect; value: quanta */
	ADV_FABRIC_TRANSFER,	/* value: its number; it ended */
	ADV_FABRIC_SAMPLE,	/* the time that adv_fabric_sample() asked for */
};

struct adv_fabric_event {
	uint64_t at;
	enum adv_fabric_event_kind kind;
	enum adv_switch_event what;
	uint32_t node; /* number of the switch, or of the host */
	uint16_t port;
	uint8_t priority;
	uint64_t value;
};
/* Called as it happens. May add connections and transfers; nothing else of the fabric is changed.
 */
typedef void adv_fabric_watch_fn(void *user, const struct adv_fabric_event *event);
void adv_fabric_watch(struct adv_fabric *f, adv_fabric_watch_fn *fn, void *user);
/* ADV_FABRIC_SAMPLE each `interval` from now on. 0 or ENOMEM. Once. */
int adv_fabric_sample(struct adv_fabric *f, uint64_t interval);

#endif
