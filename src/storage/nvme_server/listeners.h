/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses where a target listens. */
#ifndef ADV_STORAGE_NVME_SERVER_LISTENERS_H
#define ADV_STORAGE_NVME_SERVER_LISTENERS_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/list.h"
#include "storage/nvme_server/config.h"

#define ADV_NVME_LISTEN_WHY 256

struct adv_nvme_listeners {
	struct rdma_event_channel *channel; /* does not block; NULL: none */
	struct adv_list ids;		    /* of one address each */
	FILE *log;			    /* gets a line for each address; NULL: the log has it */
};

/* Listens at all addresses, as adv_kit_address_parse() reads them. False: `why`
 * is the reason, and nothing is open. */
bool adv_nvme_listeners_open(struct adv_nvme_listeners *l, const struct adv_nvme_texts *addresses,
			     char why[ADV_NVME_LISTEN_WHY]);
/* Stops listening. The channel stays, for events of connections. */
void adv_nvme_listeners_stop(struct adv_nvme_listeners *l);
/* Stops listening, and closes the channel. All ids of connections are destroyed. */
void adv_nvme_listeners_close(struct adv_nvme_listeners *l);

#endif
