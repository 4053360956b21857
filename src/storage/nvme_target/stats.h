/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What namespaces and hosts have done: counts of commands that only grow, and their times. */
#ifndef ADV_STORAGE_NVME_TARGET_STATS_H
#define ADV_STORAGE_NVME_TARGET_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "storage/nvme/identify.h"

struct adv_nvme_target;
struct adv_nvme_subsystem;

/* A time is the sum over commands: from the capsule until the host has the response. */
struct adv_nvme_stats {
	uint64_t reads, writes, others; /* commands of the queues for I/O that have succeeded */
	uint64_t errors;		/* those that have failed */
	uint64_t read_bytes, write_bytes;
	uint64_t read_ns, write_ns, other_ns;
};

struct adv_nvme_namespace_stats {
	uint32_t nsid;
	uint64_t bytes; /* size */
	struct adv_nvme_stats stats;
};

struct adv_nvme_client_stats {
	char nqn[ADV_NVME_NQN_LEN]; /* printable */
	unsigned controllers;	    /* that it has now */
	struct adv_nvme_stats stats;
};

/* The target knows the hosts that are connected, and of those that were it forgets the first ones
 * that left. */
#define ADV_NVME_CLIENTS_MAX 256

/* Copies the numbers of a subsystem's namespaces, in rising order of nsid. Returns their number. */
size_t adv_nvme_subsystem_stats(const struct adv_nvme_subsystem *subsystem,
				struct adv_nvme_namespace_stats rows[ADV_NVME_LIST_MAX]);
/* Copies those of the hosts. Returns their number. */
size_t adv_nvme_target_client_stats(const struct adv_nvme_target *target,
				    struct adv_nvme_client_stats rows[ADV_NVME_CLIENTS_MAX]);

#endif
