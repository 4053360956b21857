/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The host's way to a usable controller: admin queue, Connect, enabling, Identify, number of
 * queues, I/O queues; then keep alive. One step at a time: the owner carries out a step and reports
 * its outcome. No system call, no clock; times are nanoseconds.
 */
#ifndef ADV_STORAGE_NVME_HOST_H
#define ADV_STORAGE_NVME_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/nvme/connect.h"
#include "storage/nvme/identify.h"

struct adv_nvme_host_config {
	char subsystem_nqn[ADV_NVME_NQN_LEN];
	char host_nqn[ADV_NVME_NQN_LEN];
	uint8_t host_id[ADV_NVME_HOST_ID_LEN];
	uint16_t io_queues;  /* wanted; 0: admin queue only */
	uint16_t queue_size; /* entries of an I/O queue */
	uint32_t kato;	     /* ms; 0: no keep alive timer */
};

enum adv_nvme_host_step {
	ADV_NVME_HOST_WAIT,    /* nothing until adv_nvme_host_deadline() or an outcome */
	ADV_NVME_HOST_OPEN,    /* connect queue `qid` of host->size entries */
	ADV_NVME_HOST_COMMAND, /* send host->command on queue `qid`, with host->data */
	ADV_NVME_HOST_READY,   /* the controller can be used; reported once */
	ADV_NVME_HOST_FAILED,  /* host->reason; the host tries no further */
};

/* The owner reads `qid`, `size`, `command`, `data`, `data_length`, `reason` and the results. */
struct adv_nvme_host {
	struct adv_nvme_host_config config;
	uint16_t qid;
	uint16_t size;
	struct adv_nvme_command command;     /* without SGL and identifier */
	uint8_t data[ADV_NVME_IDENTIFY_LEN]; /* to or from the controller, by the direction */
	uint32_t data_length;
	char reason[160];

	/* Results, when the host is ready. */
	uint64_t cap;
	uint32_t version;
	uint16_t cntlid;
	uint16_t io_queues; /* granted and connected */
	struct adv_nvme_identify_controller controller;

	/* The host's. */
	uint8_t state;
	bool busy;	    /* a step is under way */
	uint64_t wake;	    /* UINT64_MAX: no time */
	uint64_t ready_end; /* the controller must be ready until then */
};

void adv_nvme_host_init(struct adv_nvme_host *host, const struct adv_nvme_host_config *config);
/* Returns the next step. */
enum adv_nvme_host_step adv_nvme_host_next(struct adv_nvme_host *host, uint64_t now);
/* The outcome of OPEN. `error`: NULL, or why it failed. */
void adv_nvme_host_opened(struct adv_nvme_host *host, const char *error);
/* The outcome of COMMAND; data from the controller is in host->data. */
void adv_nvme_host_completed(struct adv_nvme_host *host, uint64_t now,
			     const struct adv_nvme_completion *completion);
uint64_t adv_nvme_host_deadline(const struct adv_nvme_host *host);

#endif
