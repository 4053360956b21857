/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kinds of backends have in common. */
#ifndef ADV_NVME_RDMA_BACKEND_INTERNAL_H
#define ADV_NVME_RDMA_BACKEND_INTERNAL_H

#include <stddef.h>

#include "nvme_rdma/backend.h"

enum { ADV_NVME_DIRECT_ALIGN = 4096 };

struct adv_nvme_backend {
	uint64_t size;
	uint8_t *memory;   /* ram: */
	struct ibv_mr *mr; /* of the memory; NULL: none */
	int fd;		   /* a file or block device; -1: memory */
	int direct_fd;	   /* the same with O_DIRECT; -1: none */
	bool block_device;
	uint8_t uuid[ADV_NVME_UUID_LEN];
};

/* Executes a request to memory. */
uint16_t adv_nvme_ram_execute(const struct adv_nvme_backend *b, const struct adv_nvme_io *io);

#endif
