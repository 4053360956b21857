/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The structures behind target.h, for the files of the target. */
#ifndef ADV_STORAGE_NVME_TARGET_STATE_H
#define ADV_STORAGE_NVME_TARGET_STATE_H

#include "storage/nvme_target/stats.h"
#include "storage/nvme_target/target.h"

#define ADV_NVME_VERSION     0x00010400u /* 1.4 */
#define ADV_NVME_NSID_MAX    1024u
#define ADV_NVME_AER_MAX     4u
#define ADV_NVME_ANA_GROUP   1u
#define ADV_NVME_ERRORS	     64u /* entries of the error log */
#define ADV_NVME_KAS	     10u /* granularity of the keep alive timer, 100 ms */
#define ADV_NVME_NOT_A_FIELD 0xffff
#define ADV_NVME_REPORTS_MAX 64u
#define ADV_NVME_MS	     1000000ull

struct adv_nvme_namespace {
	uint32_t nsid;
	uint64_t blocks;
	uint8_t block_shift;
	bool read_only;
	bool thin;
	bool removed;
	uint8_t uuid[ADV_NVME_UUID_LEN];
	void *backend;
	struct adv_nvme_subsystem *subsystem;
	struct adv_nvme_stats stats;
	unsigned users;		 /* requests in execution */
	struct adv_list writing; /* requests that change data, in execution (order.h) */
	struct adv_list waiting; /* requests that wait for those, in order */
	struct adv_list link;	 /* target->removed */
};

/* A host that may use a subsystem. */
struct adv_nvme_allowed_host {
	struct adv_list link;
	char nqn[ADV_NVME_NQN_LEN];
};

struct adv_nvme_subsystem {
	struct adv_list link;
	struct adv_nvme_target *target;
	bool discovery;
	char nqn[ADV_NVME_NQN_LEN];
	char serial[ADV_NVME_SERIAL_LEN + 1];
	struct adv_nvme_namespace *namespaces[ADV_NVME_NSID_MAX + 1]; /* by nsid */
	unsigned namespace_count;
	struct adv_list hosts;	     /* struct adv_nvme_allowed_host; empty: all are allowed */
	struct adv_list controllers; /* struct adv_nvme_controller */
	struct adv_nvme_smart smart; /* counts of commands; units in bytes */
};

/* A host by its name. */
struct adv_nvme_client {
	struct adv_list link; /* target->clients */
	char nqn[ADV_NVME_NQN_LEN];
	unsigned controllers;
	struct adv_nvme_stats stats;
};

struct adv_nvme_port {
	struct adv_list link;
	bool referral;
	uint8_t adrfam;
	char traddr[ADV_NVME_TRADDR_LEN + 1];
	char trsvcid[ADV_NVME_TRSVCID_LEN + 1];
};

struct adv_nvme_target {
	struct adv_nvme_target_config config;
	struct adv_list subsystems;
	struct adv_list leaving; /* subsystems that are removed and still in use */
	struct adv_nvme_subsystem *discovery;
	struct adv_list ports;	 /* struct adv_nvme_port */
	struct adv_list removed; /* namespaces that are removed and still in use */
	uint64_t generation;	 /* of the discovery log */
	uint16_t last_cntlid;
	unsigned controllers;
	struct adv_list clients; /* struct adv_nvme_client */
	unsigned client_count;
	struct adv_list queues;	     /* struct adv_nvme_queue */
	struct adv_list unconnected; /* those without a Connect that are not closing, in order */
	struct adv_nvme_report reports[ADV_NVME_REPORTS_MAX]; /* a ring, from report_first on */
	unsigned report_first, report_count;
	uint64_t reports_lost;
};

/* Asynchronous events of a controller. */
enum { ADV_NVME_PENDING_NAMESPACE = 1, ADV_NVME_PENDING_DISCOVERY = 2 };

struct adv_nvme_controller {
	struct adv_list link; /* subsystem->controllers */
	struct adv_nvme_subsystem *subsystem;
	uint16_t cntlid;
	uint8_t host_id[ADV_NVME_HOST_ID_LEN];
	char host_nqn[ADV_NVME_NQN_LEN];
	uint32_t cc, csts;
	uint32_t kato;			/* ms; 0: no timer */
	uint64_t keep_alive_end;	/* UINT64_MAX: never */
	struct adv_nvme_client *client; /* NULL: it is not counted */
	const char *why;		/* the target stops it; NULL: it does not */
	uint16_t io_queues;		/* as Set Features has granted */
	struct adv_nvme_queue *admin;
	struct adv_nvme_queue **queues; /* by qid, from 1 to io_queues of the target's config */
	bool no_write_cache;

	uint32_t event_config;	/* the feature asynchronous event configuration */
	uint8_t events_pending; /* to report */
	uint8_t events_masked;	/* reported; the host has not read the log page yet */
	struct adv_list event_requests;
	unsigned event_request_count;
	uint32_t changed[ADV_NVME_NSID_MAX]; /* changed namespaces, in rising order */
	unsigned changed_count;

	struct adv_nvme_error errors[ADV_NVME_ERRORS]; /* a ring by count */
	uint64_t error_count;
};

enum adv_nvme_request_state {
	ADV_NVME_REQUEST_FREE,
	ADV_NVME_REQUEST_QUEUED, /* in the outbox */
	ADV_NVME_REQUEST_OUT,	 /* the binding works on request->action */
	ADV_NVME_REQUEST_PARKED, /* an asynchronous event request */
	ADV_NVME_REQUEST_HELD,	 /* waits for an overlapping write */
	ADV_NVME_REQUEST_FUSED,	 /* waits for the other one of two fused commands */
	ADV_NVME_REQUEST_ENDED,	 /* its response waits until others are sent */
};

struct adv_nvme_queue {
	struct adv_nvme_target *target;
	struct adv_nvme_outbox *outbox;
	void *user;
	uint16_t id;
	uint16_t size;		 /* commands without a response */
	uint16_t requests_count; /* and responses whose SEND has not completed */
	uint16_t sqsize;	 /* entries of the submission queue, by Connect */
	uint16_t sq_head;
	bool flow_control;
	bool connected; /* the Connect command has succeeded */
	bool failing;	/* CLOSE has been put into the outbox */
	bool closed;
	bool freeing; /* FREE has been put into the outbox */
	uint8_t action;
	struct adv_list link;	     /* outbox->queues */
	struct adv_list all;	     /* target->queues */
	struct adv_list unconnected; /* target->unconnected */
	uint64_t connect_end;
	uint8_t adrfam;
	char local_address[ADV_NVME_TRADDR_LEN + 1];
	char port[ADV_NVME_PORT_LEN]; /* of the target, for reports */
	char peer[ADV_NVME_PEER_LEN];
	struct adv_nvme_controller *controller;
	struct adv_nvme_request *fused_first; /* the first of two fused commands; NULL: none */
	struct adv_list free;
	unsigned busy;	       /* requests that are not free */
	unsigned unanswered;   /* of them, those whose response the host does not have */
	unsigned responding;   /* of them, those from RESPOND to adv_nvme_request_sent() */
	struct adv_list ended; /* requests of this state, in order */
	struct adv_nvme_request requests[];
};

/* A command: `start` checks it and sets request->data_length (0: no data); a status other than
 * success ends it. When its data is here, or the buffer for it, `execute` runs; if `repeats`, again
 * after each request to the backend that has succeeded. Data that is longer than a page of 4 KiB is
 * that of blocks (io.block), for which the SGL must have the very length. */
struct adv_nvme_handler {
	uint8_t opcode; /* or fabrics type */
	uint16_t (*start)(struct adv_nvme_request *request);
	void (*execute)(struct adv_nvme_request *request, uint64_t now);
	bool repeats;
};

/* The tables of fabrics.c, admin.c and io.c; the entry after the last one has no `start`. */
extern const struct adv_nvme_handler adv_nvme_fabrics_handlers[];
extern const struct adv_nvme_handler adv_nvme_admin_handlers[];
extern const struct adv_nvme_handler adv_nvme_discovery_handlers[];
extern const struct adv_nvme_handler adv_nvme_io_handlers[];

/* log_pages.c */

/* Carries out Get Log Page: checks, and fills the buffer. */
uint16_t adv_nvme_log_start(struct adv_nvme_request *request);
void adv_nvme_log_execute(struct adv_nvme_request *request, uint64_t now);

/* features.c */

uint16_t adv_nvme_set_features_start(struct adv_nvme_request *request);
void adv_nvme_set_features_execute(struct adv_nvme_request *request, uint64_t now);
uint16_t adv_nvme_get_features_start(struct adv_nvme_request *request);
void adv_nvme_get_features_execute(struct adv_nvme_request *request, uint64_t now);

#endif
