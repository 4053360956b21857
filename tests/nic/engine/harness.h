/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Engines in virtual time, connected by a network that the test controls. The harness flattens each
 * packet that an engine sends and passes it to the test's hook, which may drop, duplicate, delay or
 * alter it. Then it delivers the packet after a delay. Every run is deterministic. After each step
 * the harness checks the guard zones around registered memory, and polls the completions and
 * events. It checks that each completion arrives once, and in posting order.
 */
#ifndef ADV_TESTS_NIC_ENGINE_HARNESS_H
#define ADV_TESTS_NIC_ENGINE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/engine/cause.h"
#include "nic/queue/qp_state.h"

#define NET_NODES   3
#define NET_ENDS    48
#define NET_REGIONS 128
#define NET_EVENTS  64
#define NET_DELAY   1000 /* delay of a packet unless the hook changes it, ns */
#define US	    1000ull
#define MS	    1000000ull
#define SEC	    1000000000ull
#define END_LOG	    8192
#define WR_SGES	    33
#define PACKET_MAX  (ADV_HEADERS_MAX + 4096 + 4)
#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | FLUSH_ACCESS)
#define FLUSH_ACCESS (3 << 8) /* IBV_ACCESS_FLUSH_GLOBAL and _PERSISTENT, for older headers */

struct net;
struct node;

/* A packet in flight, as the hook sees it. */
struct wire {
	unsigned from;	 /* node */
	uint64_t number; /* number of the packet in this net, from 0 */
	uint64_t sent;	 /* time of sending */
	struct adv_rx_meta meta;
	struct adv_headers h; /* decoded headers; a change has no effect on the packet */
	uint32_t payload_len;
	unsigned copies; /* copies to deliver: 1; 0 drops the packet */
	uint64_t delay;	 /* delay of the first copy, and between further copies, ns */
	uint32_t len;
	uint8_t data[PACKET_MAX]; /* the hook may alter data and len */
};

typedef void net_hook(struct net *net, struct wire *w);

/* Registered memory between two guard zones. */
struct region {
	struct node *node;
	struct adv_mr *mr; /* NULL once deregistered */
	uint8_t *buf;
	uint64_t len;
	uint64_t iova;
	uint32_t key;
};

struct completion {
	struct ibv_wc wc;
	uint64_t time;
};

struct posted {
	uint64_t wr_id;
	bool signaled;
};

/* A queue pair with its queues. */
struct end {
	struct net *net;
	struct node *node;
	struct adv_qp *qp;
	struct adv_cq *scq;
	struct adv_cq *rcq;
	struct adv_srq *srq;  /* XRC_RECV: an SRQ of the end in the QP's domain, with rcq */
	uint32_t remote_srqn; /* XRC_SEND: default SRQ of requests */
	bool sig_all;
	bool no_poll;		  /* do not poll the completions */
	struct completion *sends; /* polled completions; at most END_LOG */
	struct completion *recvs;
	unsigned send_count;
	unsigned recv_count;
	struct posted *posted; /* posted send requests; at most END_LOG */
	unsigned posted_head;
	unsigned posted_tail;
	uint64_t *recv_ids; /* IDs of posted receive requests; at most END_LOG */
	unsigned recv_head;
	unsigned recv_tail;
};

struct node {
	struct net *net;
	unsigned index;
	struct adv_engine *e;
	struct adv_pd *pd;
	struct adv_xrcd *xrcd;
	struct adv_gid gid[2]; /* IPv6 and mapped IPv4 */
	struct adv_event events[NET_EVENTS];
	uint64_t event_time[NET_EVENTS];
	unsigned event_count;
};

struct net {
	uint64_t now;
	unsigned node_count;
	struct node node[NET_NODES];
	struct end *ends[NET_ENDS];
	unsigned end_count;
	struct region *regions[NET_REGIONS];
	unsigned region_count;
	net_hook *hook;
	void *arg;
	uint64_t sent;	 /* number of sent packets */
	bool partitions; /* QPs may send other P_Keys than ADV_PKEY_DEFAULT */
	bool trace;
	uint64_t order; /* packets that arrive at the same time keep the order of sending */
	struct flight *flight;
	unsigned flight_count;
	unsigned flight_room;
	struct adv_tx_batch batch;
};

/* Opens a network. `seed` is the seed of the engines. net_close() frees the network and checks that
 * the engines are idle. */
struct net *net_open(unsigned nodes, uint64_t seed);
/* As net_open(), with a configuration of the engines. config->qpn_first is the first QP number of
 * node 0, and the distance between the first numbers of two nodes; 0: 0x100. */
struct net *net_open_config(unsigned nodes, const struct adv_engine_config *config);
void net_close(struct net *net);
/* As net_close(), but the engines need not be idle. */
void net_abandon(struct net *net);

/* Runs until no packet is in flight, no engine has packets to send and no timer is set, or until
 * `ns` have passed. */
void net_run(struct net *net, uint64_t ns);
/* Runs until the end has `sends` send completions and `recvs` receive completions in total. If this
 * takes longer than `ns`, fails the test. */
void net_until(struct net *net, struct end *end, unsigned sends, unsigned recvs, uint64_t ns);
/* Performs one step: pulls packets, then advances the time to the next event, at most to `limit`.
 * Returns false if there is no event. */
bool net_step(struct net *net, uint64_t limit);
/* Sends bytes to a node with the peer's address as the source. */
void net_inject(struct net *net, unsigned from, unsigned to, const uint8_t *data, uint32_t len);
/* As net_inject(), but makes the packet from header fields. The payload bytes count up from 0. */
void net_inject_packet(struct net *net, unsigned from, unsigned to, const struct adv_headers *h,
		       uint32_t payload_len);
/* Checks the conditions that must hold at any time. */
void net_check(struct net *net);
/* Polls the events of an engine, and checks their causes. net_step() does so by itself. */
void net_take_events(struct node *node);
unsigned net_count_events(const struct node *node, enum ibv_event_type type);
unsigned net_count_completion_events(const struct node *node, const struct adv_cq *cq);

struct region *region_open(struct node *node, uint64_t len, int access);
/* As region_open(), in a given PD and with a given iova. */
struct region *region_open_at(struct node *node, struct adv_pd *pd, uint64_t len, uint64_t iova,
			      int access);
void region_deregister(struct region *r);
void region_fill(struct region *r, uint8_t seed);
/* Returns the byte that region_fill() wrote at `offset`. */
uint8_t region_byte(uint64_t offset, uint8_t seed);

/* How QPs are created and connected. */
struct options {
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	uint32_t psn[2]; /* first PSN of end i as a sender */
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	unsigned access;
	uint32_t qkey;
	uint16_t pkey_index;
	bool sig_all;
	bool block_self_multicast;
	bool ipv4;
	struct ibv_qp_cap cap;
	unsigned cqe;
	struct adv_srq *srq;   /* SRQ of the second end of a pair */
	struct adv_xrcd *xrcd; /* domain of XRC_RECV; NULL: the domain of the node */
};

struct options options_default(enum ibv_qp_type type);
/* Creates a QP in RESET, with CQs of its own. */
struct end *end_open(struct node *node, const struct options *o, struct adv_srq *srq);
/* Destroys the QP and checks that no object of it is left. */
void end_close(struct end *end);
int end_to_init(struct end *end, const struct options *o);
int end_to_rtr(struct end *end, const struct options *o, const struct end *peer, uint32_t rq_psn);
int end_to_rts(struct end *end, const struct options *o, uint32_t sq_psn);
int end_to_state(struct end *end, enum ibv_qp_state state);
/* Connects two ends and moves both to RTS. UD ends need no peer. */
void ends_connect(struct end *a, struct end *b, const struct options *o);
/* Opens two connected ends on nodes 0 and 1. If the type is XRC_SEND, the second end is
 * XRC_RECV. */
void pair_open(struct net *net, const struct options *o, struct end **a, struct end **b);
enum ibv_qp_state end_state(const struct end *end);
/* Polls completions into the end's log and checks their order. */
void end_poll(struct end *end);

/* A send request being built. */
struct wr {
	struct ibv_send_wr w;
	struct ibv_sge sge[WR_SGES];
};

struct wr *wr_make(struct wr *wr, int opcode, uint64_t wr_id, unsigned flags);
void wr_sge(struct wr *wr, const struct region *r, uint64_t offset, uint32_t len);
void wr_remote(struct wr *wr, const struct region *r, uint64_t offset);
int end_send(struct end *end, struct wr *wr);
/* Posts a request with one SGE, and with a remote address if the opcode has one. The post must
 * succeed. */
void end_op(struct end *end, int opcode, uint64_t wr_id, const struct region *local,
	    uint64_t offset, uint32_t len, const struct region *remote, uint64_t remote_offset);
int end_recv_sges(struct end *end, uint64_t wr_id, struct ibv_sge *sge, int num);
void end_recv(struct end *end, uint64_t wr_id, const struct region *r, uint64_t offset,
	      uint32_t len);

/* Check the n-th polled completion, of a send and of a receive request. */
void expect_send(const struct end *end, unsigned n, uint64_t wr_id, enum ibv_wc_status status);
void expect_recv(const struct end *end, unsigned n, uint64_t wr_id, enum ibv_wc_status status);
void expect_pattern(const struct region *r, uint64_t offset, uint64_t len, uint8_t seed,
		    uint64_t seed_offset);

#endif
