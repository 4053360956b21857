/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The page of `adverb top` with the namespaces and hosts of running NVMe over Fabrics targets. */
#ifndef ADV_CLI_TOP_STORAGE_H
#define ADV_CLI_TOP_STORAGE_H

#include "cli/screen.h"
#include "nvme_rdma/stat_client.h"

/* What a namespace or a host does. */
struct adv_top_storage_row {
	char target[ADV_NVME_CONTROL_NAME + 1];
	char name[ADV_NVME_NQN_LEN + 8]; /* with the number of a namespace */
	bool host;
	struct adv_nvme_rates rates; /* since the last reading */
};

struct adv_top_storage {
	struct adv_top_storage_row *row; /* namespaces before hosts */
	size_t count;
	struct adv_nvme_stat *last; /* the last reading of each target */
	size_t last_count;
};

/* Reads the targets that answer this user. Those that are new get rates of 0. */
void adv_top_storage_read(struct adv_top_storage *s);
void adv_top_storage_free(struct adv_top_storage *s);

/* Draws the titles and the rows from `first` on into `room` lines below `line`. */
void adv_top_storage_draw(struct adv_screen *screen, unsigned line, unsigned room,
			  const struct adv_top_storage *s, size_t first);

#endif
