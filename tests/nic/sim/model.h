/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The model: the expected state of memory, requests, hosts, connections and datagrams. Each
 * structure also has the object of the transport that it describes.
 */
#ifndef ADV_TESTS_NIC_SIM_MODEL_H
#define ADV_TESTS_NIC_SIM_MODEL_H

#include "nic/cm/cm.h"
#include "nic/fault/decide.h"
#include "nic/fault/queue.h"
#include "nic/queue/qp_state.h"

#define SIM_HOSTS	8
#define SIM_CONNECTIONS 24
#define SIM_DATAGRAMS	4 /* UD QPs */
#define SIM_GROUPS	2 /* multicast groups: the first is IPv6, the second IPv4 */
#define SIM_NOBODY	UINT32_MAX
#define SIM_CQS		4 /* CQs of a host */
#define SIM_SLOTS	16
#define SIM_COUNTERS	4
#define SIM_RECV_SLOTS	64
#define SIM_IMPAIRED	256
#define SIM_LIVES	64
#define SIM_QPNS	0x400

struct sim;
struct host;
struct end;
struct stream;

/* ---- memory ------------------------------------------------------------------------- */

/* Registered memory between two guards. */
struct region {
	struct host *host;
	struct adv_mr *mr;
	uint8_t *buf;
	uint64_t len;
	uint64_t iova;
	uint32_t key;
	struct region *next; /* next region of the host */
};

/* The pieces of a message's memory, in order. */
struct pieces {
	unsigned n;
	struct {
		uint32_t at;
		uint32_t len;
	} piece[ADV_MAX_SGE];
};

enum window_state { WINDOW_NONE, WINDOW_CHANGING, WINDOW_BOUND };

/*
 * The memory at one side that requests of the other side use: counters for atomics, then slots.
 * `posted` has the expected contents after all posted requests, `done` those after the completed
 * requests.
 */
struct area {
	struct region *r;
	uint32_t slot_size;
	unsigned slots;
	uint8_t *posted;
	uint8_t *done;
	uint32_t old_key; /* an invalid earlier key; 0: none */
	uint8_t *frozen;  /* contents of the area when it was deregistered */
	struct adv_mw *window;
	enum ibv_mw_type window_type;
	enum window_state window_state;
	uint32_t window_key;
	uint64_t window_len;
	unsigned window_users; /* outstanding requests that use the window */
	struct ibv_mw ibv_mw;  /* window in the form that bind requests need */
	struct ibv_mr ibv_mr;
	uint64_t last_writer[SIM_SLOTS]; /* request + 1 */
	unsigned readers[SIM_SLOTS];
};

/* ---- requests ----------------------------------------------------------------------- */

enum bad { GOOD, BAD_RKEY, BAD_BOUNDS, BAD_ALIGNMENT, BAD_LKEY, BAD_LENGTH, BADS };

struct request {
	uint64_t id; /* identifies the contents of the message */
	int opcode;
	uint32_t len;
	uint32_t offset; /* offset in the area */
	unsigned slot;
	unsigned counter;
	bool signaled;
	bool shared;	/* uses the counter that all requests to a host share */
	unsigned life;	/* if `shared`: the life of that host */
	bool counting;	/* uses a counter */
	bool by_window; /* uses the key of the area's window */
	bool is_inline;
	bool success;
	enum bad bad;
	uint64_t original; /* atomics: the expected original value */
	uint64_t value;	   /* the counter's value afterwards */
	uint8_t *expected; /* READ: the expected data */
	struct pieces pieces;
};

/* A message that the receiver must get. */
struct expected {
	uint64_t id;
	int opcode;
	uint32_t len;
	uint32_t imm;
	bool bad;
	struct pool *pool; /* XRC: the pool of the named SRQ; NULL: the QP's own */
};

/* One direction of a connection. */
struct stream {
	struct end *from;
	struct end *to;
	struct area area;     /* at `to` */
	struct region *local; /* memory of `from`, with a slot for each request */
	uint32_t local_size;
	struct request *ring; /* ring with as many requests as the send queue holds */
	unsigned room;
	uint64_t posted; /* requests since the connection began */
	uint64_t done;
	unsigned unsignaled; /* successive unsignaled requests */
	unsigned bad;	     /* posted requests that the other side must refuse */
	/* If memory was deregistered: number + 1 of the first request that cannot use that memory.
	 * 0: the memory is registered. */
	uint64_t area_gone;
	uint64_t local_gone;
	uint64_t pool_gone; /* like area_gone, for the receiver's pool */
	struct expected *expect;
	unsigned expect_head;
	unsigned expect_count;
	unsigned expect_room;
	uint64_t consuming_done; /* completed requests that consume a receive request */
	uint64_t received;
	uint32_t una;	      /* oldest unacknowledged PSN at the last check */
	uint64_t progress_at; /* last time at which `una` advanced */
	/* PSNs of the last impaired requests and responses, and their number. */
	uint32_t impaired_psn[SIM_IMPAIRED];
	unsigned impaired;
	uint64_t rnr_then;
	uint64_t rnr_naks; /* RNR NAKs delivered to the requester */
	/* UC: all data ever written, which may appear in the area. */
	struct uc_write {
		uint64_t id;
		uint32_t offset;
		uint32_t len;
	} * writes;
	unsigned write_count;
	unsigned write_room;
};

/* Receive requests of a QP or an SRQ, and their memory. */
struct pool {
	struct host *host;
	struct end *end; /* NULL: an SRQ's */
	struct adv_srq *srq;
	struct region *r;
	uint32_t size; /* size of each receive request, bytes */
	unsigned max_sge;
	unsigned slots;
	unsigned wanted; /* number to keep posted */
	unsigned posted;
	struct {
		bool posted;
		struct pieces pieces;
		uint64_t order;
	} slot[SIM_RECV_SLOTS];
	uint64_t next_order;
	uint64_t last_order; /* order of the last completion of a receive queue */
	bool may_lose;	     /* a QP with this SRQ was reset or destroyed during a message */
};

/* ---- hosts and connections ---------------------------------------------------------- */

struct queue { /* a CQ */
	struct adv_cq *cq;
	bool shrunk;  /* the CQ is too small for all possible completions */
	bool stopped; /* a QP that uses it was found in the error state */
	bool by_event;
	bool pending;
};

struct host {
	struct sim *sim;
	unsigned index;
	struct adv_engine *e; /* NULL: the host has crashed */
	struct adv_cm *cm;    /* NULL: no managed connections */
	struct adv_cm_id *listener[2];
	uint64_t back_at;
	struct adv_pd *pd;
	struct adv_xrcd *xrcd;
	struct adv_gid gid[2];
	struct queue queue[SIM_CQS];
	struct pool *srq;     /* SRQ of RC and UC QPs, or NULL */
	struct pool *xrc_srq; /* or NULL */
	struct region *regions;
	uint64_t region_number;
	/* Region of one counter of 8 bytes, which is 0 at each start of the host. */
	struct region *shared;
	unsigned life;	      /* number of starts of the host */
	uint8_t *shared_seen; /* returned original values */
	uint64_t shared_posted;
	uint64_t shared_done;
	struct end *by_qpn[SIM_QPNS];
	struct adv_fault_state fault;
	struct adv_fault_queue held;
	uint64_t link_free_at;
	bool copies_from[SIM_HOSTS]; /* payload from that host must not be away */
};

struct end {
	struct connection *c; /* NULL: UD */
	unsigned side;
	struct host *host;
	struct adv_qp *qp;
	uint32_t qpn;
	struct queue *send_queue;
	struct queue *recv_queue;
	struct pool *pool;  /* pool of the end or of the host; NULL: the end does not receive */
	struct stream *out; /* NULL: the end does not send */
	struct stream *in;
	bool failed;	/* a request completed with an error that was not a flush */
	bool app_error; /* the application moved the QP to ERR */
	bool purged;	/* the QP was reset or destroyed: completions may be missing */
	bool recv_flushed;
	bool sqd;
	uint64_t sqd_at;
	struct datagram *ud;
};

/* A managed connection begins in CONNECTING. It is LEAVING when all its requests are done. */
enum connection_state { CONNECTED, BREAKING, QUIET, CONNECTING, LEAVING };

/* One side of a managed connection. */
struct agent {
	struct connection *c;
	unsigned side;
	struct adv_cm_id *id; /* NULL: not created, or destroyed */
	uint32_t events;      /* a bit for each event */
	bool heard;	      /* the request was received */
	bool established;     /* the listening side may send */
	bool over;	      /* the end of the connection was reported */
	bool asked;	      /* the application ends the connection */
	bool left;	      /* the application has destroyed the id, which rejects an unanswered
				 request */
	uint64_t decide_at;   /* time of the answer to a request; 0: the side has answered */
	uint64_t leave_at;
};

struct connection {
	struct sim *sim;
	unsigned index;
	enum ibv_qp_type type; /* RC, UC or XRC_SEND */
	enum connection_state state;
	struct host *host[2];
	struct end end[2];
	unsigned ends;
	struct stream stream[2]; /* [i]: from end i */
	unsigned streams;
	/* Drawn once for all lives of the connection: */
	enum ibv_mtu mtu;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t depth[2]; /* outstanding READs and atomics of end i */
	struct ibv_qp_cap cap;
	bool sig_all;
	bool use_srq[2];
	bool ipv4;
	bool self; /* one QP, side 0, which is connected to itself */
	bool managed;
	bool windows;
	uint64_t patience; /* time without progress that counts as stuck */
	/* Only for managed connections: */
	struct agent agent[2];
	uint32_t psn[2];
	unsigned attempt;
	uint64_t attempt_at;
	uint64_t harmed_then; /* impaired messages when the connection began */
	uint64_t crashes_then;
	bool refused;  /* the listening application has rejected the request */
	bool given_up; /* the attempt has failed */
};

/* ---- datagrams ---- */

struct datagram_log {
	uint32_t len;
	uint64_t id;
	uint32_t to; /* QPN, or SIM_NOBODY */
};

struct datagram {
	struct sim *sim;
	unsigned index;
	struct end end;
	struct pool *pool;
	struct region *local;
	struct request *ring;
	unsigned room;
	uint64_t posted;
	uint64_t done;
	uint32_t mtu;
	struct adv_ah *ah[SIM_DATAGRAMS];
	struct adv_ah *group_ah[SIM_GROUPS];
	bool member[SIM_GROUPS];
	uint32_t taken; /* number of posted receives before a packet of a group arrives */
	struct datagram_log *log;
	unsigned log_room;
	uint32_t qpns[SIM_LIVES]; /* QPNs of all lives of the QP, because packets may be late */
	unsigned lives;
};

#endif
