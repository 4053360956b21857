/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who may have connections. What runs out first is receives: a worker has a limit of them, and each
 * connection holds as many as its queue has entries. An address holds a share at most. When few are
 * left, connections whose host has not sent Connect give way to new ones. The caller of each
 * function holds the shared lock.
 */
#ifndef ADV_STORAGE_NVME_SERVER_ADMISSION_H
#define ADV_STORAGE_NVME_SERVER_ADMISSION_H

#include <stdbool.h>

#include "storage/nvme_server/worker_internal.h"

/* A connection holds as many receives at least, which limits the number of connections. */
enum { ADV_NVME_CREDITS_MIN = 32 };

/* What an address holds. */
struct adv_nvme_holder {
	struct adv_list link;	 /* shared->holders */
	struct in6_addr address; /* of IPv4: mapped */
	unsigned receives;
	unsigned leaving; /* of them, those of connections that had to give way */
	unsigned silent;  /* those of connections without a Connect, when it was counted */
};

/* Enters a connection, with its credits, for the address of its host, and has others closed if it
 * needs their place. False: the address has its share (prints that), or there is no memory. */
bool adv_nvme_admission_enter(struct adv_nvme_connection *c);
/* Removes a connection that was entered. */
void adv_nvme_admission_leave(struct adv_nvme_connection *c);

#endif
