/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The defaults of rsockets, which files in /etc/rdma/rsocket may change: rsocket(7). */
#ifndef ADV_ABI_RSOCKET_CONFIG_H
#define ADV_ABI_RSOCKET_CONFIG_H

#include <stdint.h>

struct adv_rs_config {
	uint32_t rcvbuf; /* mem_default: bytes */
	uint32_t sndbuf; /* wmem_default: bytes */
	uint32_t sq_size;
	uint32_t rq_size;
	uint32_t inline_size;
	uint32_t mappings;   /* iomap_size */
	uint32_t polling_us; /* polling_time: how long to poll before sleeping */
	uint32_t wake_up_ms; /* wake_up_interval: the longest sleep between two checks */
};

/* Reads the folder's files. A value that is absent, or not a number within its limits, keeps its
 * default. */
void adv_rs_config_read(struct adv_rs_config *config, const char *folder);

/* Returns the configuration of this process, which is read once. Any thread. */
const struct adv_rs_config *adv_rs_config(void);

#endif
