/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request to a file as a sequence of system calls: a transfer in parts, reading and comparing,
 * punching a hole or else writing zeros. No call here is made: the engine makes each one, in
 * whatever way, and reports its result.
 */
#ifndef ADV_STORAGE_NVME_SERVER_TASK_H
#define ADV_STORAGE_NVME_SERVER_TASK_H

#include "base/list.h"
#include "storage/nvme_server/backend_internal.h"

enum adv_nvme_call_kind {
	ADV_NVME_CALL_READ,
	ADV_NVME_CALL_WRITE,
	ADV_NVME_CALL_FALLOCATE,
	ADV_NVME_CALL_SYNC, /* fdatasync(2) */
};

struct adv_nvme_call {
	enum adv_nvme_call_kind kind;
	int fd;
	uint8_t *data;
	uint64_t length, offset;
	int flags; /* of pwritev2(2), or the mode of fallocate(2) */
};

struct adv_nvme_task {
	struct adv_list link; /* the engine's */
	struct adv_nvme_request *request;
	uint8_t phase;
	uint64_t done;	 /* bytes of the phase */
	uint8_t *buffer; /* of Compare */
};

/* Begins a request to a file. False: no memory. */
bool adv_nvme_task_begin(struct adv_nvme_task *task, struct adv_nvme_request *request);
/* Sets *call to the next system call. */
void adv_nvme_task_call(const struct adv_nvme_task *task, struct adv_nvme_call *call);
/* Handles the result of that call: a length, or a negative errno. True: the request has ended with
 * *status. */
bool adv_nvme_task_called(struct adv_nvme_task *task, int result, uint16_t *status);
/* Frees what the task owns. */
void adv_nvme_task_end(struct adv_nvme_task *task);

#endif
