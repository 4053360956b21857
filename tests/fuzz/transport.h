/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The world of fuzz_transport.c's programs: two engines with queue pairs of all kinds between them,
 * regions with all kinds of access rights, and a model of the bytes that may change and of the
 * requests that may complete.
 *
 *	transport_world.c	creation, connection, destruction
 *	transport_model.c	memory and completions
 *	transport_packets.c	packets in flight, changed and forged
 */
#ifndef ADV_FUZZ_TRANSPORT_H
#define ADV_FUZZ_TRANSPORT_H

#include "fuzz.h"
#include "nic/queue/qp_state.h"

#define NODES	   2
#define WINDOWS	   3
#define WRS	   1024 /* most requests posted in one run */
#define PIECES	   4
#define FLIGHTS	   512
#define PACKET_MAX 8192
#define GUARD	   64
#define QKEY	   0x11111111u
#define MS	   1000000ull
#define SEC	   1000000000ull
#define REMOTE	   (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

enum { END_RC, END_RC_SRQ, END_UC, END_UD, END_XRC_SEND, END_XRC_RECV, ENDS };
enum {
	REGION_ALL,
	REGION_LOCAL,
	REGION_READ,
	REGION_WRITE,
	REGION_ATOMIC,
	REGION_WINDOW,
	REGION_NONE,
	REGION_OTHER_PD,
	REGIONS
};

struct region {
	struct adv_mr *mr; /* NULL: not registered at present */
	struct adv_pd *pd;
	uint8_t *buf;	  /* len bytes, between two guards */
	uint8_t *seen;	  /* copy of `buf` at the last check */
	uint8_t *granted; /* for each byte: the remote access rights that windows gave */
	uint32_t len;
	uint64_t iova;
	uint32_t key; /* key of the newest registration */
	int access;
};

struct end {
	struct node *node;
	unsigned kind;
	struct adv_qp *qp;  /* NULL: destroyed */
	uint32_t qpn;	    /* number of the newest QP */
	uint32_t last_send; /* order of the newest completed request */
	uint32_t last_recv;
};

/* A request that was posted. Its wr_id is its number. */
struct request {
	uint32_t qpn; /* 0: posted to an SRQ */
	const struct adv_srq *srq;
	uint32_t order;
	uint64_t length;
	bool live; /* not completed */
	bool recv;
	bool signaled;
	bool result; /* true for a READ or atomic, whose responses go to its pieces */
	unsigned pieces;
	struct {
		struct region *region;
		uint32_t at;
		uint32_t len;
	} piece[PIECES];
};

struct node {
	struct world *world;
	unsigned index;
	struct adv_engine *e;
	struct adv_gid gid[2];
	struct adv_pd *pd, *other_pd;
	struct adv_xrcd *xrcd;
	struct adv_cq *cq, *small_cq;
	struct adv_srq *srq, *xrc_srq; /* xrc_srq: NULL: destroyed */
	struct adv_mw *window[WINDOWS];
	struct region region[REGIONS];
	struct end end[ENDS];
	struct adv_ah *ah;
	bool no_poll;
	bool overrun; /* the small CQ has overrun: completions are lost */
	struct request wr[WRS];
	uint32_t posted;
};

struct flight {
	unsigned to;
	struct adv_rx_meta meta;
	uint32_t len;
	uint8_t *data;
};

struct world {
	uint64_t now;
	bool one_machine; /* both nodes have the same addresses */
	bool access_less; /* QPs allow no remote WRITE and no atomics */
	struct node node[NODES];
	struct flight flight[FLIGHTS]; /* oldest first */
	unsigned flights;
	struct adv_tx_batch batch;
};

/* The bits of a program's first byte, the options of the world. */
enum {
	WORLD_ONE_MACHINE = 1,
	WORLD_ACCESS_LESS = 2,
	WORLD_XRC = 4,
	WORLD_SMALL_WINDOW = 8,
	WORLD_IPV4 = 16,
	WORLD_SIG_ALL = 32,
	WORLD_ABRUPT = 64
};

struct world *world_open(uint8_t options);
/* Destroys everything in any state. Checks that no object remains. */
void world_close(struct world *w);
/* Delivers all packets and lets time pass until nothing more happens. Checks that all requests have
 * completed. */
void world_rest(struct world *w);
/* Dequeues events and completions. Follows each call of an engine. */
void world_take(struct world *w);
/* Moves both ends of a kind from RESET to RTS. */
void world_connect(struct world *w, unsigned kind, uint8_t options);
void end_create(struct world *w, struct end *end, uint8_t options);
void end_destroy(struct end *end);
void region_register(struct region *r);
/* False if a window is bound to the region. */
bool region_deregister(struct region *r);
void xrc_srq_create(struct node *node);
void xrc_srq_destroy(struct node *node);
struct end *world_find(struct world *w, uint32_t qpn);
struct end *end_peer(const struct end *end);

/* Returns the node's next request, which the caller fills in; NULL: the run can have no more. */
struct request *model_request(struct node *node);
/* Records that the request was posted: it may change memory from now on. */
void model_posted(struct node *node, struct request *r);
/* Records that the requests of this QP, or SRQ, never complete. */
void model_forget(struct node *node, uint32_t qpn, const struct adv_srq *srq);
void model_poll(struct node *node);
/* Checks that only bytes changed that the packet delivered to the node may change; f NULL: none. */
void model_check(struct world *w, const struct node *node, const struct flight *f);
/* Checks that the node may send the bytes of the packet. */
void model_check_sent(const struct node *node, const struct adv_tx_packet *pkt);

/* Puts the engines' packets in flight. False: they have none to send. */
bool packets_pull(struct world *w);
/* The i-th packet in flight arrives, or is dropped. */
void packets_deliver(struct world *w, unsigned i);
void packets_drop(struct world *w, unsigned i);
void packets_launch(struct world *w, const struct flight *like, const uint8_t *data, uint32_t len);

/* One step of a program. Each operation uses some of the members. */
struct step {
	uint8_t code;
	uint8_t who; /* selects the end, by node and kind */
	uint8_t a;
	uint8_t b;
	uint16_t c;
	uint16_t d;
	uint32_t e;
	uint32_t f;
	uint32_t g;
	uint32_t h;
};

struct end *step_end(struct world *w, const struct step *s);
/* Changes one field of a packet in flight. */
void packets_mutate(struct world *w, const struct step *s);
/* Delivers a packet to the end that its peer never sent. */
void packets_forge(struct world *w, const struct step *s);

#endif
