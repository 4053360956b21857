/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whole systems in virtual time, from one seed: hosts with a transport engine each, links with
 * faults between them, and applications that post requests of all kinds, crash and restart. A model
 * (model.h) predicts what each application sees. A difference is a violation.
 *
 *	draw.c		draws the system from the seed
 *	network.c	packets between hosts
 *	memory.c	regions, their contents, and the model of them
 *	host.c		engines, CQs, SRQs
 *	connection.c	QPs: created, broken, connected again
 *	manager.c	connections by src/nic/cm
 *	requests.c	posts requests
 *	windows.c	memory windows
 *	judge.c		checks completions
 *	datagram.c	UD
 *	longs.c		long packets
 *	history.c	what happened, to compare two runs of a seed
 *	trouble.c	crashes and other trouble on purpose
 *	world.c		the loop over events, the end
 */
#ifndef ADV_TESTS_NIC_SIM_SIM_H
#define ADV_TESTS_NIC_SIM_SIM_H

#include <setjmp.h>
#include <stdio.h>

#include "longs.h"
#include "model.h"

#define SIM_PLAN_TEXT 1024
#define US	      1000ull
#define MS	      1000000ull
#define SEC	      1000000000ull

/*
 * The subjects that draw random numbers. Each has its own stream, so that a seed keeps its meaning
 * if a subject is added or draws more. New subjects are added at the end, because the position
 * selects the stream.
 */
enum subject {
	WORLD,	     /* numbers of objects */
	NETWORK,     /* latencies, rates, windows */
	PLAN,	     /* faults */
	APPLICATION, /* load, and rate of bad requests */
	SHAPES,	     /* parameters of connections */
	ENGINES,     /* seeds of engines; CQs and SRQs */
	CONNECTIONS, /* creation and failure */
	POSTING,     /* times at which requests are posted */
	REQUESTS,    /* choice of the requests */
	RECEIVES,    /* times at which receive requests are posted */
	POLLING,     /* times at which completions are polled */
	DATAGRAMS,   /* UD */
	GROUPS,	     /* multicast */
	TROUBLE,     /* crashes, resets */
	WITHDRAWING, /* memory deregistered under outstanding work */
	OVERRUNS,    /* CQs that are too small */
	LOOPS,	     /* QPs connected to themselves */
	WINDOWS,     /* memory windows */
	MANAGER,     /* the connection manager */
	GLANCES,     /* choice of the memory to check */
	DELAYS,	     /* longest delay of ACKs */
	LONGS,	     /* long packets */
	SUBJECTS
};

/* ---- the world ---------------------------------------------------------------------- */

struct flight {
	struct adv_fault_held held; /* first member: cast from a queue of held packets */
	uint64_t at;
	uint64_t order;
	unsigned to;
	struct adv_rx_meta meta;
	uint32_t len;
	uint32_t data_len; /* less than len if the payload is away */
	uint8_t *data;
	struct long_flight longs;
};

struct totals {
	uint64_t operations; /* completed with any status */
	uint64_t posted;
	uint64_t failures; /* requests with an error of their own */
	uint64_t flushed;
	uint64_t received;
	uint64_t events; /* packets delivered, timers, ticks */
	uint64_t packets;
	uint64_t bytes;
	uint64_t impaired;
	uint64_t crashes;
	uint64_t reconnects;
	uint64_t troubles;
	uint64_t datagrams;
	uint64_t bound;	    /* bound memory windows */
	uint64_t withdrawn; /* regions deregistered under outstanding work */
	uint64_t overruns;  /* overrun CQs */
	uint64_t grouped;   /* datagrams to multicast groups */
	uint64_t managed;   /* connections made by the connection manager */
	uint64_t mads;	    /* messages of the connection manager */
	uint64_t longs;	    /* long packets */
	uint64_t pulls;	    /* payloads read from the memory of their sender */
	uint64_t unread;    /* payloads that could not be read */
};

/* What happened at a time, as a hash. */
struct note {
	const char *what; /* "a packet", ...: the same pointer for the same kind */
	uint64_t at;
	uint64_t hash;
};

struct history {
	struct note *note;
	size_t count;
	size_t room;
};

struct sim {
	uint64_t seed;
	struct history *history; /* or NULL */
	bool no_fast_path;
	struct adv_rng rng[SUBJECTS];
	uint64_t fingerprint; /* hash of all draws */
	uint64_t now;
	bool trace;
	jmp_buf failed;
	char why[512];
	/* Drawn from the seed. */
	unsigned host_count;
	unsigned connection_count;
	unsigned datagram_count;
	uint64_t goal; /* operations to post */
	uint64_t byte_goal;
	uint64_t bytes_posted;
	uint32_t window;
	uint32_t total_window;
	uint8_t timeout_ticks;
	uint64_t ack_delay;
	uint64_t way[SIM_HOSTS][SIM_HOSTS]; /* latency from host to host, ns */
	uint64_t latency;		    /* longest latency in way[] */
	uint64_t ns_per_kib;
	uint64_t extra_delay; /* largest delay that the plan adds */
	uint32_t max_len;     /* longest message */
	unsigned eager;	      /* per mille: to post requests, receives, to poll */
	unsigned willing;
	unsigned attentive;
	unsigned trouble; /* rate of trouble, per million steps */
	unsigned bad;	  /* rate of bad requests, per 10,000 */
	bool chaos;	  /* packets are altered without a wrong ICRC: contents, order and statuses
			   * may have any value; everything else is still checked */
	bool duplicates;  /* the plan duplicates or reorders packets: UC and UD see this */
	bool injects; /* the plan makes requests fail: an error at either side needs no other reason
		       */
	/* Subjects that not every seed has. */
	bool managed;	/* connections are made by the connection manager */
	bool windows;	/* requests also use memory windows */
	bool withdraws; /* memory is deregistered under outstanding work */
	bool overruns;	/* CQs become too small */
	bool groups;	/* datagrams to multicast groups */
	bool longs;	/* long packets between hosts */
	/* Only with long packets: */
	uint32_t away_min;   /* least bytes of a message whose payload is away */
	uint32_t copy_most;  /* most bytes of a long packet whose payload is not away */
	unsigned unreadable; /* per mille: copies of payload that fail */
	struct adv_fault_plan plan;
	char plan_text[SIM_PLAN_TEXT];

	struct host host[SIM_HOSTS];
	struct connection connection[SIM_CONNECTIONS];
	struct datagram datagram[SIM_DATAGRAMS];
	struct flight **heap; /* heap[1] is the next flight to arrive */
	unsigned flights;
	unsigned heap_room;
	uint64_t order;
	uint64_t next_tick;
	uint64_t tick;
	uint64_t next_id;
	uint64_t harmed_mads;
	bool closing;
	struct totals total;
	struct adv_tx_batch batch;
};

/* Prints the violation and ends the run. */
void violation(struct sim *s, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));
#define REQUIRE(s, condition, ...)                                                                 \
	do {                                                                                       \
		if (!(condition))                                                                  \
			violation(s, __VA_ARGS__);                                                 \
	} while (0)

static inline uint64_t below(struct sim *s, enum subject who, uint64_t n)
{
	return adv_rng_below(&s->rng[who], n);
}

static inline bool chance(struct sim *s, enum subject who, unsigned per_mille)
{
	return below(s, who, 1000) < per_mille;
}

/* Allocations that never fail. */
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);

/* history.c */
void history_note(struct sim *s, const char *what, const void *data, size_t len);
void history_free(struct history *h);
/* Compares the histories of a run with the fast path and of one without it. False: they differ, and
 * the first difference is printed. */
bool history_same(const struct history *a, const struct history *b, uint64_t seed);

/* memory.c */
struct region *region_open(struct host *h, uint64_t len);
void region_close(struct region *r);
void regions_check(struct host *h);
void pattern_fill(uint8_t *to, uint64_t id, uint64_t offset, uint64_t len);
bool pattern_equal(const uint8_t *p, uint64_t id, uint64_t offset, uint64_t len);
void pieces_cut(struct sim *s, enum subject who, struct pieces *p, uint32_t len, unsigned max_sge);
void pieces_sges(const struct pieces *p, const struct region *r, uint64_t base,
		 struct ibv_sge *sge);
void pieces_fill(const struct pieces *p, uint8_t *base, uint64_t id);
bool pieces_match(const struct pieces *p, const uint8_t *base, uint64_t id, uint32_t len,
		  bool rest);
bool pieces_equal(const struct pieces *p, const uint8_t *base, const uint8_t *want);
void area_open(struct area *a, struct host *h, uint32_t slot_size, unsigned slots);
void area_close(struct area *a);
void area_request(struct stream *st, struct request *q, uint64_t number);
void area_done(struct stream *st, struct request *q, uint64_t number);
void area_renew(struct stream *st);
void area_settle(struct stream *st);
void area_check(struct stream *st);

void area_glance(struct stream *st);
void region_withdraw(struct region *r);
void region_restore(struct region *r);

/* windows.c */
bool is_window_request(int opcode);
bool window_choose(struct stream *st, struct request *q);
void window_fill(struct stream *st, const struct request *q, struct ibv_send_wr *wr);
bool window_send_invalidates(struct stream *st, struct request *q);
uint32_t window_or_region_key(struct stream *st, struct request *q);
void window_posted(struct stream *st, const struct request *q);
void window_done(struct stream *st, const struct request *q);
void window_lost(const struct end *end);
void window_forget(struct area *a);

/* network.c */
void network_pull(struct host *h);
void network_send(struct host *h, const struct adv_path *path, const uint8_t *data, uint32_t len);
void network_deliver(struct sim *s);
void network_release(struct host *h);
bool network_has_packet_for(const struct sim *s, unsigned host, uint32_t qpn);
void network_close(struct sim *s);
struct end *end_find(const struct host *h, uint32_t qpn);

/* host.c */
void host_open(struct host *h);
void host_crash(struct host *h);
void host_forget(struct host *h);
void host_close(struct host *h);
void host_poll(struct host *h, bool all);
void queue_resize(struct host *h, struct queue *q);
void queue_shrink(struct host *h, struct queue *q);
void host_events(struct host *h);
struct pool *pool_open(struct host *h, uint32_t size, unsigned max_sge, unsigned wanted);
void pool_close(struct pool *p);
void pool_post(struct pool *p, unsigned n);
unsigned pool_complete(struct pool *p, const struct ibv_wc *wc);
void pool_recount(struct pool *p);
void pool_forget(struct pool *p);

/* connection.c */
void connection_open(struct connection *c);
void connection_begin(struct connection *c, const uint32_t psn[2]);
void connection_leave(struct connection *c);
void connection_manage(struct connection *c);
void connection_close(struct connection *c);
bool connection_idle(const struct connection *c);
void end_forget(struct end *end);
void end_destroy(struct end *end);
void end_bind(struct end *end, struct adv_qp *qp);
struct end *peer_of(struct end *end);
enum ibv_qp_state end_state(const struct end *end);
void end_move(struct end *end, enum ibv_qp_state state);

/* manager.c */
void manager_open(struct host *h);
void manager_crash(struct host *h);
void manager_close(struct host *h);
bool manager_is_quiet(const struct host *h);
void manager_rx(struct host *h, const struct adv_rx_meta *meta, const uint8_t *data, uint32_t len);
uint64_t manager_deadline(const struct host *h);
void manager_expire(struct host *h);
void manager_turn(struct host *h);
void manager_connect(struct connection *c);
bool manager_watch(struct connection *c);
bool manager_part(struct connection *c);

/* requests.c */
bool request_post(struct stream *st);

/* judge.c */
void judge(struct host *h, const struct ibv_wc *wc);
void judge_progress(struct end *end);
bool end_may_flush(const struct end *end);
void judge_silent(struct end *end);
void judge_stuck(struct connection *c);
void stream_forget(struct stream *st);

/* datagram.c */
void datagram_open(struct datagram *d);
void datagram_close(struct datagram *d);
bool datagram_post(struct datagram *d);
void datagram_regroup(struct datagram *d);
void datagrams_before(struct host *h);
void datagrams_after(struct host *h, const struct flight *f);
void datagram_judge(struct datagram *d, const struct ibv_wc *wc);

/* trouble.c */
void trouble(struct sim *s);

/* The parameters of a run. */
struct run {
	uint64_t seed;
	uint64_t fingerprint;		   /* the required fingerprint; 0: any */
	uint64_t operations;		   /* number of operations to post; 0: the default */
	const struct adv_fault_plan *plan; /* NULL: the drawn plan */
	bool trace;
	bool no_fast_path;	 /* of the engines */
	struct history *history; /* or NULL: is not recorded */
};

/* draw.c */
void draw(struct sim *s, const struct run *run);

/* world.c: runs the seed and adds its figures to *sum. False: a violation, which is printed. */
bool simulate(const struct run *run, struct totals *sum);
void add_totals(struct totals *sum, const struct totals *t);

#endif
