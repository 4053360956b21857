/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A simulated Ethernet whose hosts have the transport engine as their NIC: the code that real
 * networks use, in virtual time. A run depends on its configuration and seed only. The same input
 * gives the same output, bit for bit, on every machine.
 *
 *	f = adv_fabric_create(&config);
 *	c = adv_fabric_connect(f, &connection);
 *	adv_fabric_transfer(f, c, bytes, at);
 *	adv_fabric_run(f, until);
 *	adv_fabric_get_transfer(f, ...), adv_fabric_switch(f, ...), ...
 *
 * Times are picoseconds of virtual time. Payload has no contents of its own: all hosts send from
 * one shared buffer and receive into it.
 */
#ifndef ADV_FABRIC_FABRIC_H
#define ADV_FABRIC_FABRIC_H

#include "fabric/switch.h"
#include "fabric/topology.h"
#include "transport/engine.h"

/* Largest work request, and size of the buffer that all work requests use; and the default size
 * of a work request. Bytes. */
#define ADV_FABRIC_MESSAGE_MAX (1u << 24)
#define ADV_FABRIC_MESSAGE     (1u << 20)

struct adv_fabric_config {
	const struct adv_topology
		*topology; /* with routes; the caller keeps it as long as the fabric exists */
	struct adv_class class[ADV_PRIORITIES]; /* lossless, headroom 0: adv_fabric_headroom() of
						   the port's cable */
	uint64_t buffer;			/* of each switch, bytes */
	uint16_t pause_quanta;			/* 0: the maximum */
	uint64_t pause_response;		/* from receiving a pause frame to its effect, ps */
	struct adv_watchdog watchdog;
	uint8_t priority_of_dscp[64];
	uint32_t mtu;		 /* RoCE payload bytes: 256, 512, 1024, 2048 or 4096 */
	uint64_t check_deadlock; /* between searches for a deadlock, ps; 0: never */
	uint64_t seed;
	struct adv_engine_config engine; /* of each host; the fabric chooses seeds and QP numbers */
};

/*
 * Sets the usual deployment of RoCE. The priority is DSCP / 8. Priority 3 is lossless with a limit
 * by alpha 1/8, priority 6 (CNPs) is strict, the others share. The buffer is 32 MB, the MTU 4096.
 * ECN and the watchdog are off. Deadlocks are searched for every 100 us. The caller sets `topology`
 * and `seed`.
 */
void adv_fabric_defaults(struct adv_fabric_config *config);

/*
 * Returns the bytes of headroom with which a port loses nothing: the frame that exceeds the limit,
 * a frame that is being sent while the pause frame waits, the pause frame itself, its propagation,
 * the peer's response, a frame that the peer has just begun, and the propagation back. `mtu` as in
 * the configuration.
 */
uint64_t adv_fabric_headroom(struct adv_cable cable, uint32_t mtu, uint64_t pause_response);

/* Returns the bytes of a switch's buffer that belong to a port with this cable: reserved bytes
 * and headroom of all priorities. */
uint64_t adv_fabric_dedicated(const struct adv_fabric_config *config, struct adv_cable cable);

struct adv_fabric;

/* Creates a fabric. NULL with errno EINVAL: a host has no cable, the MTU, a priority or the
 * buffer is out of range; or ENOMEM. */
struct adv_fabric *adv_fabric_create(const struct adv_fabric_config *config);
void adv_fabric_destroy(struct adv_fabric *f);

/* ---- connections and transfers ---- */

enum adv_fabric_operation { ADV_FABRIC_WRITE, ADV_FABRIC_SEND, ADV_FABRIC_READ };

/* An RC connection. With READ the data flows from the target to the initiator. */
struct adv_fabric_connection {
	uint32_t initiator; /* host */
	uint32_t target;
	enum adv_fabric_operation operation;
	uint8_t dscp;
	uint32_t message;    /* of a work request, bytes; 0: ADV_FABRIC_MESSAGE */
	uint32_t depth;	     /* outstanding work requests; 0: 8 */
	uint8_t timeout;     /* as in ibv_qp_attr: 4.096 us x 2^n; 0: 14, which is 67 ms */
	uint8_t retry_count; /* 0: 7 */
};

/* Returns the connection's number, from 0 on, or -1 with errno EINVAL, ENOMEM. */
int64_t adv_fabric_connect(struct adv_fabric *f, const struct adv_fabric_connection *c);

/* Adds a transfer of `bytes` to a connection. It begins at `at`, which is not in the past, and
 * after the connection's earlier transfers. UINT64_MAX bytes never end. Returns the transfer's
 * number, or -1 with errno EINVAL, ENOMEM, ENOTCONN (the connection has failed). */
int64_t adv_fabric_transfer(struct adv_fabric *f, uint32_t connection, uint64_t bytes, uint64_t at);

/* As adv_fabric_transfer(), but the transfer begins when another one has ended: for collectives.
 * If that one fails, this transfer's connection fails with IBV_WC_WR_FLUSH_ERR. EINVAL also:
 * there is no such transfer. */
int64_t adv_fabric_transfer_after(struct adv_fabric *f, uint32_t connection, uint64_t bytes,
				  uint32_t transfer);

struct adv_fabric_transfer_state {
	uint32_t connection;
	uint64_t bytes;
	uint64_t done;	/* completed bytes */
	uint64_t start; /* scheduled begin, ps; ADV_CALENDAR_NEVER: it waits for another */
	uint64_t
		end; /* completion or failure of its last work request, ps; or ADV_CALENDAR_NEVER */
	enum ibv_wc_status status;
};
const struct adv_fabric_transfer_state *adv_fabric_get_transfer(const struct adv_fabric *f,
								uint32_t transfer);

/* Returns the connection's parameters with the defaults filled in. NULL: no such connection. */
const struct adv_fabric_connection *adv_fabric_get_connection(const struct adv_fabric *f,
							      uint32_t connection);

/* Enables adv_fabric_received(), at a small cost per packet. Call it before the first run. */
void adv_fabric_count_received(struct adv_fabric *f);
/* Returns the payload bytes that the connection received in order. Lost and duplicate packets do
 * not count. */
uint64_t adv_fabric_received(const struct adv_fabric *f, uint32_t connection);

/* ---- trouble ---- */

/* Drops frames of a cable, in both directions, with this probability from now on. */
void adv_fabric_lose(struct adv_fabric *f, uint32_t link, uint32_t per_million);

/* A slow host processes received frames at this speed. Its buffer of `room` bytes holds the
 * waiting frames. It pauses a priority above `xoff` and resumes it at `xon`. Frames that do not
 * fit are dropped. */
struct adv_fabric_slow {
	uint32_t ps_per_byte;
	uint32_t xoff;
	uint32_t xon;
	uint32_t room;
};
/* Returns 0; EINVAL: xon > xoff or xoff > room; ENOMEM. Call it before the first run. */
int adv_fabric_slow_host(struct adv_fabric *f, uint32_t host, const struct adv_fabric_slow *slow);

/* A failing NIC: from `from` to `to` the host pauses these priorities all the time. Returns 0 or
 * ENOMEM. */
int adv_fabric_storm(struct adv_fabric *f, uint32_t host, uint8_t priorities, uint64_t from,
		     uint64_t to);

/* ---- run ---- */

enum adv_fabric_stop {
	ADV_FABRIC_UNTIL,    /* the time `until` was reached */
	ADV_FABRIC_EVENTS,   /* the number of events was reached */
	ADV_FABRIC_DONE,     /* all transfers have completed or failed */
	ADV_FABRIC_DEADLOCK, /* see adv_fabric_deadlock() */
	ADV_FABRIC_NO_MEMORY,
};

/* Runs until `until` or an earlier stop. A deadlock stops the run once; the caller may continue
 * it. */
enum adv_fabric_stop adv_fabric_run(struct adv_fabric *f, uint64_t until);
/* As adv_fabric_run(), for at most `events` events, so that the caller can check for a signal. */
enum adv_fabric_stop adv_fabric_run_some(struct adv_fabric *f, uint64_t until, uint64_t events);
uint64_t adv_fabric_now(const struct adv_fabric *f);
uint64_t adv_fabric_events(const struct adv_fabric *f); /* processed events */

/* ---- deadlock ---- */

/* A switch's output queue that the next switch has paused. */
struct adv_fabric_wait {
	uint32_t sw; /* switch number, from 0 */
	uint16_t port;
	uint8_t priority;
};

/* Returns the length of the cycle of paused queues that was found, each of which waits for the
 * next and the last for the first; 0: none. Writes at most `room` of them. The cycle cannot
 * dissolve: none of its pauses would end if everything else drained. */
unsigned adv_fabric_deadlock(const struct adv_fabric *f, struct adv_fabric_wait *cycle,
			     unsigned room);
/* As adv_fabric_deadlock(), but searches now. */
unsigned adv_fabric_find_deadlock(const struct adv_fabric *f, struct adv_fabric_wait *cycle,
				  unsigned room);

/* ---- queries ---- */

struct adv_fabric_host_counters {
	uint64_t tx_frames; /* data frames sent completely */
	uint64_t tx_bytes;
	uint64_t rx_frames; /* passed to the engine */
	uint64_t rx_bytes;
	uint64_t rx_dropped; /* dropped by a slow host */
	uint64_t rx_pause;
	uint64_t tx_pause;
};

struct adv_switch *adv_fabric_switch(const struct adv_fabric *f, uint32_t sw);
struct adv_engine *adv_fabric_engine(const struct adv_fabric *f, uint32_t host);
/* Returns the host's output queues. */
const struct adv_egress *adv_fabric_egress(const struct adv_fabric *f, uint32_t host);
const struct adv_fabric_host_counters *adv_fabric_host_counters(const struct adv_fabric *f,
								uint32_t host);
uint64_t adv_fabric_lost(const struct adv_fabric *f); /* frames dropped by adv_fabric_lose() */
/* Counts data frames on wires and in hosts, and their bytes. adv_switch_used() has those in
 * switches. */
void adv_fabric_outside(const struct adv_fabric *f, uint64_t *frames, uint64_t *bytes);
uint64_t adv_fabric_memory(const struct adv_fabric *f); /* memory of packets and events, bytes */

enum adv_fabric_event_kind {
	ADV_FABRIC_SWITCH,	/* as `what`; node: switch number */
	ADV_FABRIC_HOST_PAUSED, /* a received pause frame took effect; value: quanta */
	ADV_FABRIC_TRANSFER,	/* a transfer ended; value: its number */
	ADV_FABRIC_SAMPLE,	/* at the interval of adv_fabric_sample() */
};

struct adv_fabric_event {
	uint64_t at;
	enum adv_fabric_event_kind kind;
	enum adv_switch_event what;
	uint32_t node; /* number of the switch or host */
	uint16_t port;
	uint8_t priority;
	uint64_t value;
};
/* Called for each event. It may add connections and transfers, and must not change the fabric in
 * another way. */
typedef void adv_fabric_watch_fn(void *user, const struct adv_fabric_event *event);
void adv_fabric_watch(struct adv_fabric *f, adv_fabric_watch_fn *fn, void *user);
/* Reports ADV_FABRIC_SAMPLE every `interval` from now on. Returns 0 or ENOMEM. Call it once. */
int adv_fabric_sample(struct adv_fabric *f, uint64_t interval);

#endif
