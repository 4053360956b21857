/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kinds of backends have in common. */
#ifndef ADV_NVME_RDMA_BACKEND_INTERNAL_H
#define ADV_NVME_RDMA_BACKEND_INTERNAL_H

#include <stddef.h>

#include "nvme_rdma/backend.h"

struct adv_nvme_backend {
	uint64_t size;
	uint8_t *memory; /* ram: */
	int fd;		 /* a file or block device; -1: memory */
	bool block_device;
	uint8_t uuid[ADV_NVME_UUID_LEN];
};

/* Executes a request to memory. */
uint16_t adv_nvme_ram_execute(const struct adv_nvme_backend *b, const struct adv_nvme_io *io);
/* Executes a request to a file by system calls that block. */
uint16_t adv_nvme_file_execute(const struct adv_nvme_backend *b, const struct adv_nvme_io *io);
/* Executes WRITE ZEROES and deallocation of a file, by fallocate(2) or by writing zeros. */
uint16_t adv_nvme_file_clear(const struct adv_nvme_backend *b, const struct adv_nvme_io *io);
/* Returns the status for an errno of a request. */
uint16_t adv_nvme_file_status(enum adv_nvme_io_kind kind, int err);

#endif
