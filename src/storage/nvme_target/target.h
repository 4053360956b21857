/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The target: subsystems with their namespaces, controllers, queues and commands, as a state
 * machine. Capsules and the time go in; requests to move data, requests to the backends and
 * responses come out. The transport and the backends belong to the owner (the binding).
 *
 * The target makes no system call and has no thread, lock, clock or global variable. Only one
 * thread at a time may use a target with everything in it. Calls are short: data is neither copied
 * nor compared here, except for the small structures of admin commands. Times are nanoseconds of a
 * clock that never goes back. Functions that return int return 0 or a positive errno.
 *
 * A queue is one connection. The binding passes each received capsule to adv_nvme_queue_rx(), and
 * after any call takes actions from the outbox of the queue until there are none:
 *
 *   BUFFER   provide request->buffer of request->buffer_length bytes, now or later;
 *            then adv_nvme_request_buffered(). Or have a Write fetched into the namespace itself:
 *            adv_nvme_request_placed()
 *   FETCH    read request->data_length bytes from the host at request->remote to request->data;
 *            then adv_nvme_request_fetched()
 *   SUBMIT   carry out request->io; then adv_nvme_request_executed()
 *   RESPOND  write request->write_length bytes of request->data to the host at request->remote,
 * then send request->response, which invalidates request->remote.key if request->invalidate; then
 * adv_nvme_request_sent(). The capsule's receive can be posted again before the response is sent.
 *   RELEASE  free the buffer and the receive of a request that gets no response
 *   CLOSE    disconnect; then adv_nvme_queue_closed()
 *   FREE     nothing of a closed queue is in use: destroy the connection, then
 *            adv_nvme_queue_destroy()
 */
#ifndef ADV_STORAGE_NVME_TARGET_TARGET_H
#define ADV_STORAGE_NVME_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "storage/nvme/command.h"
#include "storage/nvme/connect.h"
#include "storage/nvme/identify.h"
#include "storage/nvme/log_page.h"
#include "storage/nvme_target/report.h"

struct adv_nvme_target;
struct adv_nvme_subsystem;
struct adv_nvme_queue;

struct adv_nvme_target_config {
	uint16_t io_queues;   /* most I/O queues of a controller; 0: 128 */
	uint16_t queue_size;  /* most entries of an I/O queue; 0: 128 */
	uint32_t in_capsule;  /* bytes of data in a capsule, a multiple of 16; 0: 4,096 */
	uint8_t mdts;	      /* largest transfer: log2 of 4 KiB pages; 0: 8, which is 1 MiB */
	unsigned controllers; /* most controllers; 0: 4,096 */
	uint32_t connect_ms;  /* most time from a connection to its Connect; 0: 30,000 */
};

/* NULL: no memory. */
struct adv_nvme_target *adv_nvme_target_create(const struct adv_nvme_target_config *config);
/* Frees the target with its subsystems. All queues have been destroyed. */
void adv_nvme_target_destroy(struct adv_nvme_target *target);

/* Returns the bytes that a receive of a capsule needs. */
uint32_t adv_nvme_target_capsule_len(const struct adv_nvme_target *target);
/* Returns the most bytes of an I/O command's data. */
uint32_t adv_nvme_target_transfer_max(const struct adv_nvme_target *target);

/* The time when adv_nvme_target_expire() has work: keep alive timers, queues without a Connect.
 * UINT64_MAX: never. */
uint64_t adv_nvme_target_deadline(struct adv_nvme_target *target);
void adv_nvme_target_expire(struct adv_nvme_target *target, uint64_t now);

/* Closes all queues: CLOSE for each one. */
void adv_nvme_target_close_all(struct adv_nvme_target *target);

/* --- subsystems --- */

/* EINVAL: nqn is not an NQN, or that of discovery. EEXIST: the target has it. ENOMEM. `serial` is
 * cut to 20 characters. */
int adv_nvme_target_add_subsystem(struct adv_nvme_target *target, const char *nqn,
				  const char *serial, struct adv_nvme_subsystem **out);
struct adv_nvme_subsystem *adv_nvme_target_find_subsystem(struct adv_nvme_target *target,
							  const char *nqn);
/* Returns the n-th subsystem, from 0, without that of discovery; NULL: there are fewer. */
struct adv_nvme_subsystem *adv_nvme_target_subsystem(struct adv_nvme_target *target, unsigned n);
const char *adv_nvme_subsystem_nqn(const struct adv_nvme_subsystem *subsystem);

/* Removes a subsystem with its namespaces: its hosts are disconnected. The memory is freed by
 * adv_nvme_target_next_released(), when nothing uses it. */
void adv_nvme_target_remove_subsystem(struct adv_nvme_subsystem *subsystem);

/* Allows a host. A subsystem without allowed hosts allows all. EINVAL, ENOMEM. */
int adv_nvme_subsystem_allow(struct adv_nvme_subsystem *subsystem, const char *host_nqn);
/* Allows these hosts and no other ones, which are disconnected; none: all. EINVAL, ENOMEM: nothing
 * has changed. */
int adv_nvme_subsystem_set_hosts(struct adv_nvme_subsystem *subsystem, char *const *host_nqns,
				 size_t count);

struct adv_nvme_namespace_config {
	uint32_t nsid; /* 1 to 1,024; 0: the lowest free one */
	uint64_t blocks;
	uint8_t block_shift; /* 9 to 16 */
	bool read_only;
	bool thin;
	uint8_t uuid[ADV_NVME_UUID_LEN];
	void *backend; /* the binding's; of struct adv_nvme_io */
};

/* Adds a namespace and notifies the hosts. Sets *nsid. EINVAL: size, shift or nsid is out of range.
 * EEXIST: the nsid is in use. ENOSPC: no nsid is free. ENOMEM. */
int adv_nvme_subsystem_add_namespace(struct adv_nvme_subsystem *subsystem, uint64_t now,
				     const struct adv_nvme_namespace_config *config,
				     uint32_t *nsid);
/* Removes a namespace and notifies the hosts. New commands fail; those in execution finish. The
 * backend stays in use until adv_nvme_target_next_released() returns it. ENOENT. */
int adv_nvme_subsystem_remove_namespace(struct adv_nvme_subsystem *subsystem, uint64_t now,
					uint32_t nsid);
/* Gives a namespace more blocks, and notifies the hosts. ENOENT. EALREADY: it has so many. EINVAL:
 * it has more, or the size is out of range. */
int adv_nvme_subsystem_grow_namespace(struct adv_nvme_subsystem *subsystem, uint32_t nsid,
				      uint64_t blocks);
/* Returns the backend of a removed namespace that no command uses any more; NULL: none. */
void *adv_nvme_target_next_released(struct adv_nvme_target *target);

/* Adds an address where the target listens, to the discovery log. A wildcard address stands for the
 * address of the host's own connection. EINVAL: it is too long. ENOMEM. */
int adv_nvme_target_add_port(struct adv_nvme_target *target, uint8_t adrfam, const char *traddr,
			     const char *trsvcid);
/* Adds a discovery service elsewhere to the discovery log. EINVAL, ENOMEM. */
int adv_nvme_target_add_referral(struct adv_nvme_target *target, uint8_t adrfam, const char *traddr,
				 const char *trsvcid);
void adv_nvme_target_remove_referrals(struct adv_nvme_target *target);

/* --- reports, for a log --- */

/* Takes the oldest report. False: there is none. */
bool adv_nvme_target_next_report(struct adv_nvme_target *target, struct adv_nvme_report *report);
bool adv_nvme_target_has_reports(const struct adv_nvme_target *target);
/* Returns the number of reports that were left out since the last call. */
uint64_t adv_nvme_target_lost_reports(struct adv_nvme_target *target);

/* --- actions --- */

enum adv_nvme_action {
	ADV_NVME_ACTION_NONE,
	ADV_NVME_ACTION_BUFFER,
	ADV_NVME_ACTION_FETCH,
	ADV_NVME_ACTION_SUBMIT,
	ADV_NVME_ACTION_RESPOND,
	ADV_NVME_ACTION_RELEASE,
	ADV_NVME_ACTION_CLOSE,
	ADV_NVME_ACTION_FREE,
};

/* Where the actions of queues wait; one for each thread of the binding. A call for one queue can
 * put actions into the outboxes of others. */
struct adv_nvme_outbox {
	struct adv_list requests;
	struct adv_list queues;
};

void adv_nvme_outbox_init(struct adv_nvme_outbox *outbox);
bool adv_nvme_outbox_empty(const struct adv_nvme_outbox *outbox);

enum adv_nvme_io_kind {
	ADV_NVME_IO_READ,
	ADV_NVME_IO_WRITE,
	ADV_NVME_IO_COMPARE, /* success, or ADV_NVME_COMPARE_FAILURE */
	ADV_NVME_IO_FLUSH,   /* makes all completed writes of the namespace durable */
	ADV_NVME_IO_ZERO,
	ADV_NVME_IO_COPY,	/* from `source` to `offset`, also if they overlap */
	ADV_NVME_IO_DEALLOCATE, /* the bytes read as zeros afterwards, or are unchanged */
};

struct adv_nvme_io {
	enum adv_nvme_io_kind kind;
	void *backend;
	uint64_t offset;     /* bytes */
	uint64_t length;     /* bytes; offset + length is within the namespace; 0 of a flush */
	uint64_t source;     /* of COPY: bytes, as offset */
	uint32_t block;	     /* bytes; of Read, Write and Compare */
	uint8_t *data;	     /* `length` bytes of Read, Write and Compare */
	bool fua;	     /* durable before it completes */
	bool may_deallocate; /* of ZERO */
};

/* A command from its capsule to its response. The binding reads what the actions name, and sets
 * `receive` (by adv_nvme_queue_rx()), `buffer` and `user`. */
struct adv_nvme_request {
	struct adv_nvme_queue *queue;
	void *receive;	 /* the binding's: the receive of the capsule */
	void *user;	 /* the binding's */
	uint8_t *buffer; /* NULL: none was needed */
	uint32_t buffer_length;
	uint8_t *data; /* in the buffer, in the capsule, or in the namespace */
	uint32_t data_length;
	uint32_t write_length;
	struct adv_nvme_sgl remote;
	bool invalidate;
	uint8_t response[ADV_NVME_COMPLETION_LEN];
	struct adv_nvme_io io;

	/* The target's. */
	struct adv_list link;  /* in an outbox, on the free list, or parked */
	struct adv_list order; /* of the namespace's writes */
	uint8_t state;
	uint8_t action;
	struct adv_nvme_command command;
	const struct adv_nvme_handler *handler;
	struct adv_nvme_namespace *namespace;
	uint64_t result;
	uint64_t begun;			  /* when its capsule came */
	uint16_t status;		  /* of its response */
	uint32_t range;			  /* step of a command that executes several requests */
	struct adv_nvme_request *partner; /* the other one of two fused commands */
	uint16_t fused_status;		  /* of the start of a command that waits for the second */
	bool fused_failed;		  /* the partner has failed */
	bool placed;			  /* FETCH executes this Write */
	bool answered;			  /* RESPOND has been taken */
};

/* Returns the next action with its queue, and its request except for CLOSE and FREE. After RELEASE
 * the request is valid until the next call for its queue. */
enum adv_nvme_action adv_nvme_outbox_next(struct adv_nvme_outbox *outbox,
					  struct adv_nvme_queue **queue,
					  struct adv_nvme_request **request);

/* --- queues --- */

struct adv_nvme_queue_config {
	const uint8_t *private_data; /* of the connection request */
	size_t private_data_len;
	struct adv_nvme_outbox *outbox;
	void *user;
	uint8_t adrfam;		   /* the host reaches the target */
	const char *local_address; /* at this address */
	const char *local_port;	   /* and port; NULL: not known */
	const char *peer;	   /* the host's address, for reports; NULL: not known */
	uint64_t now;
};

/* Makes the queue of a connection request. Any status but ADV_NVME_CM_OK: reject with it. */
enum adv_nvme_cm_status adv_nvme_queue_create(struct adv_nvme_target *target,
					      const struct adv_nvme_queue_config *config,
					      struct adv_nvme_queue **out);
/* Frees a queue after the action FREE, or one that was never used. */
void adv_nvme_queue_destroy(struct adv_nvme_queue *queue);

void *adv_nvme_queue_user(const struct adv_nvme_queue *queue);
uint16_t adv_nvme_queue_id(const struct adv_nvme_queue *queue);
/* Returns the number of capsules that the host can have under way: post so many receives. */
uint16_t adv_nvme_queue_size(const struct adv_nvme_queue *queue);
/* Returns the number of requests that the binding has at most. It is larger: the host sends its
 * next command when it has a response, perhaps before adv_nvme_request_sent(). */
uint16_t adv_nvme_queue_requests(const struct adv_nvme_queue *queue);

/* Returns the queue that has been without a Connect for the longest time but that of `after` and
 * those before it; NULL: none. Queues that close are left out. */
struct adv_nvme_queue *adv_nvme_target_unconnected(struct adv_nvme_target *target,
						   const struct adv_nvme_queue *after);
/* Has the binding close the connection: CLOSE follows. No capsule is accepted any more. `why`,
 * which stays valid, is for a report; NULL: none. */
void adv_nvme_queue_fail(struct adv_nvme_queue *queue, const char *why);

/* Handles a capsule, which is any bytes. It must stay unchanged until RESPOND or RELEASE. False:
 * the queue does not use it (it is closing, or the host has broken the protocol, and CLOSE
 * follows): the binding keeps the receive. */
bool adv_nvme_queue_rx(struct adv_nvme_queue *queue, uint64_t now, uint8_t *capsule, size_t len,
		       void *receive);
/* Handles the loss of the connection. Requests that the binding works on still return by the calls
 * below. Calling it twice is harmless. */
void adv_nvme_queue_closed(struct adv_nvme_queue *queue, uint64_t now);

void adv_nvme_request_buffered(struct adv_nvme_request *request, uint64_t now, uint8_t *buffer);
/* True if a request with the action BUFFER is a Write whose data may be fetched into the namespace
 * itself: no other command decides whether it executes. */
bool adv_nvme_request_may_place(const struct adv_nvme_request *request);
/* In place of adv_nvme_request_buffered(): FETCH puts the data at `memory`, where the blocks of the
 * Write are, and the Write has then executed. FETCH follows when earlier requests that change these
 * blocks have ended, and until its end later ones wait. What a FETCH that fails leaves behind is
 * the old or the new data; the owner sees to it that this holds for each block of request->io.block
 * bytes. adv_nvme_request_fetched() must follow when nothing writes to `memory` any more. */
void adv_nvme_request_placed(struct adv_nvme_request *request, uint64_t now, uint8_t *memory);
/* True if a request with the action BUFFER is a Read of blocks. */
bool adv_nvme_request_may_find(const struct adv_nvme_request *request);
/* In place of adv_nvme_request_buffered(), for such a request: its blocks are at `memory`, from
 * where RESPOND sends them. So the Read has executed. */
void adv_nvme_request_found(struct adv_nvme_request *request, uint64_t now, uint8_t *memory);
/* False: the data could not be read; the connection is lost or will be. */
void adv_nvme_request_fetched(struct adv_nvme_request *request, uint64_t now, bool ok);
void adv_nvme_request_executed(struct adv_nvme_request *request, uint64_t now, uint16_t status);
/* The send of the response has completed, in whatever way. */
void adv_nvme_request_sent(struct adv_nvme_request *request, uint64_t now);

/* Numbers of the target, for reports. */
struct adv_nvme_target_counts {
	unsigned subsystems, namespaces, controllers, queues;
};

void adv_nvme_target_count(const struct adv_nvme_target *target,
			   struct adv_nvme_target_counts *counts);

#endif
