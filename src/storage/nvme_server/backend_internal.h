/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kinds of backends have in common. */
#ifndef ADV_STORAGE_NVME_SERVER_BACKEND_INTERNAL_H
#define ADV_STORAGE_NVME_SERVER_BACKEND_INTERNAL_H

#include <stdatomic.h>
#include <stddef.h>

#include "storage/nvme_server/backend.h"

enum { ADV_NVME_DIRECT_ALIGN = 4096, ADV_NVME_EXTENT = 2 << 20 };

/* ADV_NVME_EXTENT bytes of memory; the last one may have fewer. */
struct adv_nvme_extent {
	_Atomic uint64_t written;    /* bytes that engines have written */
	_Atomic(struct ibv_mr *) mr; /* for writing; NULL: none */
};

struct adv_nvme_backend {
	uint64_t size;
	uint8_t *memory;		 /* ram: */
	struct ibv_mr *mr;		 /* of the memory, for reading; NULL: none */
	struct adv_nvme_extent *extents; /* of the memory, if it is registered; NULL: none */
	int fd;				 /* a file or block device; -1: memory */
	int direct_fd;			 /* the same with O_DIRECT; -1: none */
	bool block_device;
	uint8_t uuid[ADV_NVME_UUID_LEN];
};

/* Executes a request to memory. Several threads may do so at once. */
uint16_t adv_nvme_ram_execute(const struct adv_nvme_backend *b, const struct adv_nvme_io *io);

#endif
