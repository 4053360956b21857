/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The page of `adverb top` with the namespaces and hosts of running NVMe over Fabrics targets, and
 * the servers and clients of running gateways. */
#ifndef ADV_CLI_TOP_STORAGE_H
#define ADV_CLI_TOP_STORAGE_H

#include "cli/top/screen.h"
#include "storage/gateway/stat_client.h"
#include "storage/nvme_server/stat_client.h"

enum adv_top_storage_kind {
	ADV_TOP_NAMESPACE,
	ADV_TOP_HOST,
	ADV_TOP_GATEWAY_TITLE, /* of the columns of the rows below */
	ADV_TOP_GATEWAY,       /* a server or a client */
};

/* What a namespace, a host, a server or a client does. */
struct adv_top_storage_row {
	char target[ADV_KIT_CONTROL_NAME + 1];
	char name[ADV_KIT_STAT_NAME + 16]; /* with the number of a namespace */
	enum adv_top_storage_kind kind;
	struct adv_nvme_rates rates;	/* since the last reading */
	struct adv_gateway_rates calls; /* of a server or client */
};

struct adv_top_storage {
	struct adv_top_storage_row *row; /* namespaces, hosts, servers and clients */
	size_t count;
	struct adv_kit_stat *last; /* the last reading of each target, then of each gateway */
	size_t last_count;
};

/* Reads the targets and gateways that answer this user. Those that are new get rates of 0. */
void adv_top_storage_read(struct adv_top_storage *s);
void adv_top_storage_free(struct adv_top_storage *s);

/* Draws the titles and the rows from `first` on into `room` lines below `line`. */
void adv_top_storage_draw(struct adv_screen *screen, unsigned line, unsigned room,
			  const struct adv_top_storage *s, size_t first);

#endif
