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
#ifndef ADV_FABRIC_NETWORK_FABRIC_H
#define ADV_FABRIC_NETWORK_FABRIC_H

#include "fabric/switch/switch.h"
#include "fabric/network/topology.h"
#include "nic/engine/engine.h"

/* Largest work request, bytes. It is also the size of the buffer that all work requests use. */
#define ADV_FABRIC_MESSAGE_MAX (1u << 24)
/* Default size of a work request, bytes. */
#define ADV_FABRIC_MESSAGE (1u << 20)

struct adv_fabric_config {
	const struct adv_topology
		/* Must have routes; the caller keeps it as long as the fabric exists. */
		*topology;
	struct adv_class class[ADV_PRIORITIES]; /* if a lossless class has headroom 0:
						   adv_fabric_headroom() of the port's cable */
	uint64_t buffer;			/* size of each switch's buffer, bytes */
	uint16_t pause_quanta;			/* duration of a pause; 0: the maximum */
	uint64_t pause_response; /* time from the arrival of a pause frame to its effect, ps */
	struct adv_watchdog watchdog;
	uint8_t priority_of_dscp[64];
	uint32_t mtu;		 /* RoCE payload bytes: 256, 512, 1024, 2048 or 4096 */
	uint64_t check_deadlock; /* interval of searches for a deadlock, ps; 0: never */
	uint64_t seed;
	bool bdp_window; /* the window of a host is the bandwidth-delay product of its longest path,
			    in packets; engine.window is ignored */
	enum adv_balance balance;
	/* Of adv_fabric_fail(): how routes are computed again, and the time after which they heed
	 * that a cable has failed or works again, ps. */
	enum adv_routing routing;
	uint64_t reroute;
	bool acks_apart; /* ACKs and NAKs have the priority `ack_priority`, not that of the data */
	uint8_t ack_priority;
	/* Line rates, Mb/s, for which engine.cc has rpg_ai_rate and rpg_hai_rate. A host with
	 * another line rate has them in proportion. 0: the same at all hosts. */
	uint32_t ai_rate_at;
	uint32_t hai_rate_at;
	struct adv_engine_config engine; /* configuration of each host's engine; the fabric
						    chooses seeds and QP numbers */
};

/*
 * Sets a usual configuration of RoCE:
 * - The priority is DSCP / 8.
 * - Priority 3 is lossless, with a limit by alpha 1/8. Priority 6 (CNPs) has strict priority. The
 *   other priorities share the link by weights.
 * - The buffer has 32 MB. The MTU is 4096.
 * - ECN and the watchdog are off.
 * - The fabric searches for a deadlock every 100 us.
 * The caller sets `topology` and `seed`.
 */
void adv_fabric_defaults(struct adv_fabric_config *config);

/*
 * Returns the bytes of headroom with which a port drops no frame. It is the sum of:
 * - the frame that exceeds the limit
 * - a frame that this port sends while the pause frame waits
 * - the pause frame itself and its propagation
 * - the peer's response time
 * - a frame that the peer has just begun, and the propagation back
 * `mtu` is that of struct adv_fabric_config.
 */
uint64_t adv_fabric_headroom(struct adv_cable cable, uint32_t mtu, uint64_t pause_response);

/* Returns the bytes of a switch's buffer that only a port with this cable can use: the reserved
 * bytes and the headroom of all priorities. */
uint64_t adv_fabric_dedicated(const struct adv_fabric_config *config, struct adv_cable cable);

struct adv_fabric;

/* Creates a fabric. NULL with errno ENOMEM, or EINVAL: a host has no cable, or the MTU, a priority
 * or the buffer is out of range. */
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
	uint32_t message;    /* size of a work request, bytes; 0: ADV_FABRIC_MESSAGE */
	uint32_t depth;	     /* outstanding work requests; 0: 8 */
	uint8_t timeout;     /* as in ibv_qp_attr: 4.096 us x 2^n; 0: 14, which is 67 ms */
	uint8_t retry_count; /* 0: 7 */
};

/* Creates a connection. Returns its number (0 for the first one), or -1 with errno EINVAL or
 * ENOMEM. */
int64_t adv_fabric_connect(struct adv_fabric *f, const struct adv_fabric_connection *c);

/* Adds a transfer of `bytes` to a connection. The transfer begins at `at`, but not before the end
 * of the connection's earlier transfers. `at` must not be in the past. A transfer of UINT64_MAX
 * bytes never ends. Returns the transfer's number, or -1 with errno EINVAL, ENOMEM or ENOTCONN
 * (the connection has failed). */
int64_t adv_fabric_transfer(struct adv_fabric *f, uint32_t connection, uint64_t bytes, uint64_t at);

/* As adv_fabric_transfer(), but the new transfer begins when each of after[0..count) has arrived:
 * for collectives. A transfer has arrived when its receiver has all its data, which is before the
 * initiator learns it; a computation, when it ends. If one of them fails before, the new transfer's
 * connection fails with IBV_WC_WR_FLUSH_ERR, 10 us after that failure or later. EINVAL also if one
 * of them does not exist. */
int64_t adv_fabric_transfer_after(struct adv_fabric *f, uint32_t connection, uint64_t bytes,
				  const uint32_t *after, uint32_t count);

/* Adds a computation of `time` ps, which begins when each of after[0..count) has arrived. It uses
 * no resource: computations of a host that exclude each other must wait for each other. Its number
 * counts as that of a transfer. Returns it, or -1 with errno EINVAL (one of `after` does not exist)
 * or ENOMEM. */
int64_t adv_fabric_compute_after(struct adv_fabric *f, uint64_t time, const uint32_t *after,
				 uint32_t count);

/* The connection of a computation. */
#define ADV_FABRIC_COMPUTATION UINT32_MAX

struct adv_fabric_transfer_state {
	uint32_t connection;
	uint64_t bytes;
	uint64_t done;	/* completed bytes */
	uint64_t start; /* scheduled begin, ps; ADV_CALENDAR_NEVER: it waits for others */
	uint64_t
		end; /* completion or failure of its last work request, ps; or ADV_CALENDAR_NEVER */
	enum ibv_wc_status status;
};
const struct adv_fabric_transfer_state *adv_fabric_get_transfer(const struct adv_fabric *f,
								uint32_t transfer);

/* Returns the bytes of a transfer that are acknowledged: `done`, and the packets of the message
 * that is on its way. */
uint64_t adv_fabric_acknowledged(const struct adv_fabric *f, uint32_t transfer);

/* Returns the connection's parameters. Members that were 0 have their defaults. NULL: there is no
 * such connection. */
const struct adv_fabric_connection *adv_fabric_get_connection(const struct adv_fabric *f,
							      uint32_t connection);

/* Enables adv_fabric_received(), which costs a little time per packet. Call it before the first
 * run. */
void adv_fabric_count_received(struct adv_fabric *f);
/* Returns the payload bytes that the connection received in order. Lost and duplicate packets do
 * not count. */
uint64_t adv_fabric_received(const struct adv_fabric *f, uint32_t connection);

/* Returns the time of a transfer of `bytes` on this connection in an empty network, ps, from its
 * beginning until the initiator has the last ACK or response; 0: there is no route, or the transfer
 * never ends. It assumes that the window and the depth do not limit, and that ACKs of other packets
 * do not delay the last one. */
uint64_t adv_fabric_ideal(const struct adv_fabric *f, uint32_t connection, uint64_t bytes);

/* Returns the rate limit of congestion control for the data of a connection, Mb/s; 0: none. */
uint32_t adv_fabric_rate_limit(const struct adv_fabric *f, uint32_t connection);

/* ---- trouble ---- */

/* Sets the probability, in millionths, with which a cable drops frames in both directions. Without
 * memory the next run stops with ADV_FABRIC_NO_MEMORY. */
void adv_fabric_lose(struct adv_fabric *f, uint32_t link, uint32_t per_million);

/* What disturbs a cable, in both directions. */
struct adv_fabric_trouble {
	uint32_t lose;	  /* millionths of the frames: do not arrive */
	uint32_t corrupt; /* millionths: arrive with a wrong FCS, and are dropped and counted there
			   */
	uint64_t delay;	  /* ps beside that of the cable, at most ADV_FABRIC_TROUBLE_DELAY */
};

#define ADV_FABRIC_TROUBLE_DELAY 1000000000000ull

/* Disturbs a cable from now on, in place of what has disturbed it before: all 0: nothing. Frames
 * never overtake each other. The fabric is not in parts. Without memory the next run stops with
 * ADV_FABRIC_NO_MEMORY. */
void adv_fabric_disturb(struct adv_fabric *f, uint32_t link,
			const struct adv_fabric_trouble *trouble);
struct adv_fabric_trouble adv_fabric_trouble_of(const struct adv_fabric *f, uint32_t link);
/* Returns the frames that arrived with a wrong FCS at end `end` (0 or 1) of a cable. */
uint64_t adv_fabric_fcs_errors(const struct adv_fabric *f, uint32_t link, unsigned end);

/*
 * A cable fails at `from` and works again at `to`, ps; ADV_CALENDAR_NEVER: it never does. Frames on
 * the cable are lost, and so are those that are sent on it meanwhile. Pauses that were sent over it
 * end. After config.reroute the routes of all switches avoid the cable; a switch that then has no
 * route to a host drops its frames. The same time after `to` they use it again. Returns 0; EINVAL:
 * no such cable, `from` is in the past, or `to` is not after it; ENOMEM. Call it before the first
 * run. Failures of a cable may overlap: it works when all have ended.
 */
int adv_fabric_fail(struct adv_fabric *f, uint32_t link, uint64_t from, uint64_t to);

/* A slow host needs `ps_per_byte` to process received frames. Waiting frames are in a buffer of
 * `room` bytes. The host pauses a lossless priority with more than `xoff` waiting bytes, and
 * resumes it at `xon` bytes. Frames that do not fit are dropped. */
struct adv_fabric_slow {
	uint32_t ps_per_byte;
	uint32_t xoff;
	uint32_t xon;
	uint32_t room;
};
/* Returns 0; EINVAL: xon > xoff or xoff > room; ENOMEM. Call it before the first run. */
int adv_fabric_slow_host(struct adv_fabric *f, uint32_t host, const struct adv_fabric_slow *slow);

/* Simulates a failing NIC: from `from` to `to` the host pauses these priorities without a break.
 * Returns 0 or ENOMEM. */
int adv_fabric_storm(struct adv_fabric *f, uint32_t host, uint8_t priorities, uint64_t from,
		     uint64_t to);

/* ---- parts ---- */

/*
 * Divides the network into at most `parts` parts, up to 64, which `threads` threads run. The
 * results are the same. Hosts of which one waits for what arrives at the other are in one part, and
 * so are nodes at a cable of less than 2 ns. Returns the number of parts; if it is 1 nothing has
 * changed. -1 with errno EINVAL: the network is divided already or has run, hosts have programs
 * (external.h), or a number is out of range; ENOMEM: the fabric can only be destroyed.
 *
 * Call it before the first run, when the transfers that wait for others were added: later ones may
 * wait only for what is in the same part (else EINVAL). The function of adv_fabric_watch() is then
 * called when all parts have come to the event's time, and cannot add connections and transfers
 * except at ADV_FABRIC_SAMPLE. adv_fabric_run_some() stops some events later.
 */
int64_t adv_fabric_divide(struct adv_fabric *f, uint32_t parts, uint32_t threads);

/* ---- run ---- */

enum adv_fabric_stop {
	ADV_FABRIC_UNTIL,    /* the time `until` was reached */
	ADV_FABRIC_EVENTS,   /* the number of events was reached */
	ADV_FABRIC_DONE,     /* every transfer has completed, or has failed 10 us ago */
	ADV_FABRIC_DEADLOCK, /* see adv_fabric_deadlock() */
	ADV_FABRIC_NO_MEMORY,
};

/* Runs until `until` or an earlier stop. A deadlock stops the run once; the caller may continue
 * it. */
enum adv_fabric_stop adv_fabric_run(struct adv_fabric *f, uint64_t until);
/* As adv_fabric_run(), for at most `events` events, so that the caller can check for a signal. If
 * they are 1,000 or more the run may stop some events later. */
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

/* Returns the length of the deadlock that a run has found; 0: none. A deadlock is a cycle of
 * paused queues. Each queue waits for the next one, and the last queue waits for the first. None of
 * their pauses would end even if all other queues drained. Writes at most `room` queues to
 * `cycle`. */
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

/* Counts the frames of programs (external.h). */
struct adv_fabric_external_counters {
	uint64_t tx_frames;
	uint64_t rx_frames;
	uint64_t tx_refused;  /* frames of pull() that have no such destination, no BTH, or are
				 longer than the MTU permits; they are dropped */
	uint64_t rx_detached; /* frames for a host that was not attached */
};
const struct adv_fabric_external_counters *adv_fabric_external_counters(const struct adv_fabric *f,
									uint32_t host);

struct adv_switch *adv_fabric_switch(const struct adv_fabric *f, uint32_t sw);
struct adv_engine *adv_fabric_engine(const struct adv_fabric *f, uint32_t host);
/* Returns the counters of the host's engine. If there are ranks (ranks.h), those of the last
 * adv_fabric_gather(). */
const struct adv_engine_counters *adv_fabric_engine_counters(const struct adv_fabric *f,
							     uint32_t host);
/* Returns the host's output queues. */
const struct adv_egress *adv_fabric_egress(const struct adv_fabric *f, uint32_t host);
const struct adv_fabric_host_counters *adv_fabric_host_counters(const struct adv_fabric *f,
								uint32_t host);
/* Returns the frames lost by adv_fabric_lose() and adv_fabric_fail(). */
uint64_t adv_fabric_lost(const struct adv_fabric *f);
/* Counts the data frames on wires and in hosts, and their bytes. Frames in switches are not
 * counted: adv_switch_used() returns their bytes. */
void adv_fabric_outside(const struct adv_fabric *f, uint64_t *frames, uint64_t *bytes);

enum adv_fabric_event_kind {
	ADV_FABRIC_SWITCH,	/* a switch reported `what`; node: switch number */
	ADV_FABRIC_HOST_PAUSED, /* a received pause frame took effect; value: quanta */
	ADV_FABRIC_TRANSFER,	/* a transfer ended; value: its number */
	ADV_FABRIC_SAMPLE,	/* reported at the interval of adv_fabric_sample() */
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
/* Handles an event. Events come in the order of their times. The function may add connections and
 * transfers. It must not change the fabric in any other way. */
typedef void adv_fabric_watch_fn(void *user, const struct adv_fabric_event *event);
void adv_fabric_watch(struct adv_fabric *f, adv_fabric_watch_fn *fn, void *user);
/* Reports ADV_FABRIC_SAMPLE every `interval` from now on. Returns 0 or ENOMEM. Call it once. */
int adv_fabric_sample(struct adv_fabric *f, uint64_t interval);

#endif
